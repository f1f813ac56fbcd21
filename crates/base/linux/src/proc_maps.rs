//! `/proc/PID/maps`: the mappings of a process, and which object is behind each
//! (`proc_pid_maps(5)`).

use std::fs::File;

use crate::{Error, Root, TextFile, ipc_namespace, procmap_query};

/// The object behind a mapping: two mappings of one object, in whatever process, have equal ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Major number of the device.
    pub major: u32,
    /// Minor number of the device.
    pub minor: u32,
    /// Inode; for a System V segment its `shmid`, of which the first is 0. Else 0 for memory
    /// without an object.
    pub inode: u64,
    /// Whether it is a System V segment: the kernel gives these their `shmid` for an inode, and
    /// shared anonymous memory on the same device may have the same one (ipc/shm.c, `newseg`).
    pub is_sysv: bool,
    /// Of a System V segment the IPC namespace that numbered it, as far as it is known: all
    /// namespaces number from 0 on the same device.
    pub ipc_namespace: Option<u64>,
}

impl ObjectId {
    /// Whether both may be one object: a namespace that one of them does not know decides nothing.
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
    /// Whether anything may be done with it; a mere reservation of addresses has no pages.
    pub is_accessible: bool,
    /// `x`.
    pub is_executable: bool,
    /// `s`: what is written is seen by others.
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

    /// Whether there is an object behind it, and not only memory of the process.
    pub fn has_object(&self) -> bool {
        self.object.inode != 0 || self.object.is_sysv
    }
}

/// What could be read of a maps file.
#[derive(Debug, Default)]
pub struct Mappings {
    /// The mappings up to the first line that is malformed.
    pub list: Vec<Mapping>,
    /// What is wrong with that line, if there is one: the file was cut, or is no maps file.
    pub complaint: Option<Error>,
}

/// Reads the mappings of process `pid`; none for a kernel thread.
///
/// # Errors
/// When the process is gone or may not be read.
pub fn read(root: &Root, pid: u32) -> Result<Mappings, Error> {
    let mut mappings = parse(&root.read_lossy(&format!("proc/{pid}/maps"))?);
    number_by_namespace(root, pid, &mut mappings.list);
    Ok(mappings)
}

/// Says of System V segments in which namespace they are numbered: that of the process, which is
/// another only where it has left that in which it attached them.
fn number_by_namespace(root: &Root, pid: u32, mappings: &mut [Mapping]) {
    let mut segments = mappings
        .iter_mut()
        .filter(|mapping| mapping.object.is_sysv)
        .peekable();
    if segments.peek().is_some() {
        let namespace = ipc_namespace::of_process(root, pid);
        segments.for_each(|segment| segment.object.ipc_namespace = namespace);
    }
}

/// Reads only the mappings of shared objects of process `pid`: quicker than all of them where the
/// kernel can be asked for them (Linux 6.11).
///
/// # Errors
/// As for [`read`].
pub fn read_shared(root: &Root, pid: u32) -> Result<Mappings, Error> {
    if root.is_live() {
        let path = root.path(&format!("proc/{pid}/maps"));
        let asked = File::open(&path).and_then(|file| procmap_query::shared(&file));
        if let Some(mut list) = asked.map_err(|cause| Error::Read { path, cause })? {
            number_by_namespace(root, pid, &mut list);
            let complaint = None;
            return Ok(Mappings { list, complaint });
        }
    }
    let mut mappings = read(root, pid)?;
    mappings
        .list
        .retain(|mapping| mapping.is_shared && mapping.has_object());
    Ok(mappings)
}

/// Parses a whole file.
pub fn parse(file: &TextFile) -> Mappings {
    let mut mappings = Mappings::default();
    for (number, line) in file.lines() {
        match parse_line(line) {
            Some(mapping) => mappings.list.push(mapping),
            None => {
                let expected = "a mapping such as \"1000-2000 rw-s 00000000 00:01 3 /name\"";
                mappings.complaint = Some(file.malformed(number, expected, line));
                break;
            }
        }
    }
    mappings
}

/// `7f13b8600000-7f13b8800000 rw-s 00000000 00:01 3    /SYSV00000000 (deleted)`. Spaces of a path
/// are not escaped, so the path is all that follows the inode.
fn parse_line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        field
    };
    let (start, end) = field().split_once('-')?;
    let flags = field().as_bytes();
    let offset = hexadecimal(field())?;
    let (major, minor) = field().split_once(':')?;
    let inode = field().parse().ok()?;
    let name = rest.trim_start();
    let mapping = Mapping {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        is_accessible: flags.starts_with(b"r") || flags[..flags.len().min(3)].contains(&b'w'),
        is_executable: *flags.get(2)? == b'x',
        is_shared: *flags.get(3)? == b's',
        offset,
        object: ObjectId {
            major: u32::try_from(hexadecimal(major)?).ok()?,
            minor: u32::try_from(hexadecimal(minor)?).ok()?,
            inode,
            is_sysv: is_of_sysv(name),
            ipc_namespace: None,
        },
        name: name.to_owned(),
    };
    (mapping.start < mapping.end).then_some(mapping)
}

/// `/SYSV00000000 (deleted)`: no file has such a name, since that one was never in a directory.
pub(crate) fn is_of_sysv(name: &str) -> bool {
    let key = name.strip_prefix("/SYSV");
    let key = key.and_then(|rest| rest.strip_suffix(" (deleted)"));
    key.is_some_and(|key| key.len() == 8 && hexadecimal(key).is_some())
}

fn hexadecimal(digits: &str) -> Option<u64> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(text: &str) -> TextFile {
        TextFile::new("/maps", text)
    }

    #[test]
    fn objects_reservations_and_names_with_spaces_are_read() {
        let text = "400000-401000 r-xp 00002000 fe:00 247026                     /usr/bin/my db\n\
                    7f0000000000-7f0000200000 rw-s 00000000 00:01 3    /SYSV00000000 (deleted)\n\
                    7f0001000000-7f0002000000 ---p 00000000 00:00 0 \n";
        let mappings = parse(&file(text));
        assert!(mappings.complaint.is_none());
        let [text, shared, reserved] = &mappings.list[..] else {
            panic!("{mappings:?}")
        };
        assert_eq!(text.name, "/usr/bin/my db");
        assert!(text.is_executable && !text.is_shared && text.is_accessible);
        assert_eq!((text.offset, text.object.major), (0x2000, 0xfe));
        assert!(shared.is_shared && shared.has_object() && shared.bytes() == 2 << 20);
        assert_eq!(shared.object.inode, 3);
        assert!(!reserved.is_accessible && !reserved.has_object() && reserved.name.is_empty());
    }

    #[test]
    fn a_segment_and_anonymous_memory_with_its_number_are_two_objects() {
        let text = "1000-2000 rw-s 00000000 00:01 5    /SYSV00000005 (deleted)\n\
                    2000-3000 rw-s 00000000 00:01 5    /dev/zero (deleted)\n";
        let list = parse(&file(text)).list;
        assert_ne!(list[0].object, list[1].object);
    }

    #[test]
    fn the_first_segment_of_a_namespace_is_an_object_like_any_other() {
        let text = "1000-2000 rw-s 00000000 00:01 0    /SYSV00000000 (deleted)\n\
                    2000-3000 rw-p 00000000 00:00 0    /SYSV00000000\n\
                    3000-4000 rw-p 00000000 00:00 0 \n";
        let list = parse(&file(text)).list;
        let objects: Vec<bool> = list.iter().map(Mapping::has_object).collect();
        assert_eq!(objects, [true, false, false]);
    }

    #[test]
    fn segments_of_two_namespaces_are_two_objects() {
        let directory = tempfile::tempdir().unwrap();
        let line = "1000-2000 rw-s 00000000 00:01 0    /SYSV00000000 (deleted)\n";
        for (pid, namespace) in [(7, Some(1)), (8, Some(1)), (9, Some(2)), (10, None)] {
            let process = directory.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(process.join("ns")).unwrap();
            std::fs::write(process.join("maps"), line).unwrap();
            if let Some(namespace) = namespace {
                std::fs::write(process.join("ns/ipc"), format!("ipc:[{namespace}]")).unwrap();
            }
        }
        let root = Root::at(directory.path()).unwrap();
        let object = |pid| read(&root, pid).unwrap().list[0].object;
        assert_eq!(object(7), object(8));
        assert_ne!(object(7), object(9));
        assert!(object(7).may_be(&object(10)) && object(10).may_be(&object(9)));
        assert!(!object(7).may_be(&object(9)));
    }

    #[test]
    fn a_file_that_was_cut_gives_what_is_whole_and_says_so() {
        let whole = "1000-2000 rw-p 00000000 00:00 0 \n";
        let mappings = parse(&file(&format!("{whole}2000-3000 rw-")));
        assert_eq!(mappings.list.len(), 1);
        let complaint = mappings.complaint.unwrap().to_string();
        assert!(
            complaint.starts_with("/maps, line 2: expected a mapping"),
            "{complaint}"
        );
        for line in [
            "",
            "2000-1000 rw-p 0 0:0 0",
            "+1-2 rw-p 0 0:0 0",
            "1-2 r 0 0:0 0",
        ] {
            assert!(parse_line(line).is_none(), "{line:?}");
        }
    }

    #[test]
    fn this_process_has_its_program_mapped() {
        let mappings = read(&Root::live(), std::process::id()).unwrap();
        assert!(mappings.complaint.is_none());
        assert!(
            mappings
                .list
                .iter()
                .any(|mapping| mapping.is_executable && mapping.has_object())
        );
    }

    #[test]
    fn ten_thousand_mappings_are_read() {
        let line = |at: u64| {
            format!(
                "{:x}-{:x} rw-p 00000000 00:00 0 \n",
                at << 12,
                (at + 1) << 12
            )
        };
        let text: String = (1..=10_000).map(|at| line(2 * at)).collect();
        assert_eq!(parse(&file(&text)).list.len(), 10_000);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            parse(&file(&text));
        }

        #[test]
        fn no_line_like_text_panics(
            text in "[0-9a-f]{0,17}-[0-9a-f]{0,17} [rwxps-]{0,5} [0-9a-f]{0,17} \
                     [0-9a-f:]{0,9} [0-9]{0,21}( /.{0,9})?"
        ) {
            parse(&file(&text));
        }
    }
}
