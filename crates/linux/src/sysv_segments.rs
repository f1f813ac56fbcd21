//! `/proc/sysvipc/shm`: the System V segments of this IPC namespace, which everyone may read
//! (`sysvipc(7)`).

use std::collections::BTreeMap;

use crate::{Error, Root, SystemCallError};

/// What the kernel says of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysvSegment {
    /// Size asked for.
    pub bytes: u64,
    /// Bytes in memory. Kernels up to 6.18 count huge pages here as well.
    pub resident_bytes: u64,
    /// Bytes swapped out.
    pub swapped_bytes: u64,
}

/// The segments by `shmid`, which is the inode in /proc/PID/maps.
///
/// # Errors
/// When a line is malformed.
pub fn read(root: &Root) -> Result<BTreeMap<u64, SysvSegment>, Error> {
    let Some(file) = root.read_optional("proc/sysvipc/shm")? else {
        return Ok(BTreeMap::new());
    };
    let mut segments = BTreeMap::new();
    // key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap
    for (number, line) in file.lines().skip(1) {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let field = |index: usize| -> Result<u64, Error> {
            let text = fields.get(index).copied().unwrap_or("");
            text.parse()
                .map_err(|_| file.malformed(number, "the fields of a segment", line))
        };
        let segment = SysvSegment {
            bytes: field(3)?,
            resident_bytes: field(14)?,
            swapped_bytes: field(15)?,
        };
        segments.insert(field(1)?, segment);
    }
    Ok(segments)
}

/// Removes segment `id` if it was made with `key` and no process has it attached; answers whether
/// it did. One that is gone is no error.
///
/// # Errors
/// When it is another user's.
pub fn remove_if_unused(key: i32, id: i32) -> Result<bool, SystemCallError> {
    // SAFETY: all zeros is a value of this plain structure.
    let mut status: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure of ours that the kernel fills.
    if unsafe { libc::shmctl(id, libc::IPC_STAT, &raw mut status) } != 0 {
        let error = SystemCallError::last("shmctl", format!("{id}, IPC_STAT"));
        let is_gone = matches!(error.errno(), Some(libc::EINVAL | libc::EIDRM));
        return if is_gone { Ok(false) } else { Err(error) };
    }
    if status.shm_perm.__key != key || status.shm_nattch != 0 {
        return Ok(false);
    }
    // SAFETY: removing takes no pointer; the segment was just seen to be unused.
    if unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) } != 0 {
        return Err(SystemCallError::last("shmctl", format!("{id}, IPC_RMID")));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_segment_of_that_key_is_removed() {
        let key = 0x6e75_6d61_i32.wrapping_add(std::process::id().cast_signed());
        // SAFETY: the call takes no pointer.
        let id = unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
        assert!(id >= 0);
        assert!(!remove_if_unused(key + 1, id).unwrap());
        assert!(remove_if_unused(key, id).unwrap());
        assert!(!remove_if_unused(key, id).unwrap());
    }

    #[test]
    fn segments_are_found_by_id() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("proc/sysvipc")).unwrap();
        let path = directory.path().join("proc/sysvipc/shm");
        let head =
            "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n";
        let line = "-2052692252 32770 1600 4096 7 7 2 0 0 0 0 1 2 3 8192 0\n";
        std::fs::write(&path, format!("{head}{line}")).unwrap();
        let root = Root::at(directory.path()).unwrap();
        assert_eq!(read(&root).unwrap()[&32770].resident_bytes, 8192);
        std::fs::write(&path, format!("{head}1 2 3\n")).unwrap();
        assert!(read(&root).unwrap_err().to_string().contains("line 2"));
    }
}
