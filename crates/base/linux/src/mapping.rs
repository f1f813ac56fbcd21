//! One mapping of a process, and the object behind it.

/// The object behind a mapping: two mappings of one object have equal ids, in any process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Major number of the device.
    pub major: u32,
    /// Minor number of the device.
    pub minor: u32,
    /// Inode; for a System V segment its `shmid`, which counts from 0. Otherwise 0 for memory
    /// without an object.
    pub inode: u64,
    /// Whether it is a System V segment: the kernel makes the `shmid` its inode, and shared
    /// anonymous memory on the same device may have the same inode (ipc/shm.c, `newseg`).
    pub is_sysv: bool,
    /// For a System V segment, the IPC namespace that numbered it, if known: all namespaces count
    /// from 0 on the same device.
    pub ipc_namespace: Option<u64>,
}

impl ObjectId {
    /// Whether both may be the same object: an unknown namespace matches any.
    pub fn may_be(&self, other: &ObjectId) -> bool {
        let ipc_namespace = match (self.ipc_namespace, other.ipc_namespace) {
            (Some(one), Some(another)) if one != another => return false,
            (known, _) => known,
        };
        let other = ObjectId {
            ipc_namespace,
            ..*other
        };
        *self == other
    }
}

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Whether any access is allowed; a mere reservation of addresses has no pages.
    pub is_accessible: bool,
    /// `x`.
    pub is_executable: bool,
    /// `s`: other processes see what is written.
    pub is_shared: bool,
    /// Offset of `start` in the object.
    pub offset: u64,
    /// The object.
    pub object: ObjectId,
    /// Path, `[heap]`, or nothing.
    pub name: String,
}

impl Mapping {
    /// Length.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Whether there is an object behind it, rather than only private memory of the process.
    pub fn has_object(&self) -> bool {
        self.object.inode != 0 || self.object.is_sysv
    }
}

/// Matches `/SYSV00000000 (deleted)`: not a file's name, since this one was never in a directory.
pub(crate) fn is_of_sysv(name: &str) -> bool {
    let key = name.strip_prefix("/SYSV");
    let key = key.and_then(|rest| rest.strip_suffix(" (deleted)"));
    key.is_some_and(|key| key.len() == 8 && hexadecimal(key).is_some())
}

/// A number as the kernel writes addresses: only digits, without a sign.
pub(crate) fn hexadecimal(digits: &str) -> Option<u64> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_plain)
}
