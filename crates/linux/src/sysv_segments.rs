//! `/proc/sysvipc/shm`: the System V segments of this IPC namespace, which everyone may read
//! (`sysvipc(7)`).

use std::collections::BTreeMap;

use crate::{Error, Root};

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

#[cfg(test)]
mod tests {
    use super::*;

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
