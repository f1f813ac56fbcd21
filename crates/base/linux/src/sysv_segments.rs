//! `/proc/sysvipc/shm`: the System V segments of an IPC namespace, readable by every process in it
//! (`sysvipc(7)`).

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{Error, Root, SystemCallError, TextFile};

/// The kernel's record of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysvSegment {
    /// The key by which programs find it.
    pub key: u32,
    /// Requested size.
    pub bytes: u64,
    /// The process that created it.
    pub creator_pid: u32,
    /// Number of attaches, by all processes.
    pub attached: u64,
    /// The user who owns it.
    pub owner_uid: u32,
}

/// The segments by `shmid`, which is the inode in /proc/PID/maps.
///
/// # Errors
/// When a line is malformed.
pub fn read(root: &Root) -> Result<BTreeMap<u64, SysvSegment>, Error> {
    let file = root.read_optional("proc/sysvipc/shm")?;
    file.map_or(Ok(BTreeMap::new()), |file| parse(&file))
}

/// The segments of the IPC namespace of process `pid`. The file shows the namespace of its reader,
/// so a short-lived thread enters the other namespace to read it.
///
/// # Errors
/// When a line is malformed, the process is gone, or the namespace may not be entered
/// (`CAP_SYS_ADMIN`).
pub fn read_beside(root: &Root, pid: u32) -> Result<BTreeMap<u64, SysvSegment>, Error> {
    let path = root.path(&format!("proc/{pid}/ns/ipc"));
    let enter = || -> std::io::Result<()> {
        let namespace = File::open(&path)?;
        let kind = Some(LinkNameSpaceType::InterProcessCommunication);
        Ok(move_into_link_name_space(namespace.as_fd(), kind)?)
    };
    let read_there = || match enter() {
        Ok(()) => read(root),
        Err(cause) => Err(Error::Read {
            path: path.clone(),
            cause,
        }),
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(read_there);
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Parses the table. Its keys are signed numbers.
fn parse(file: &TextFile) -> Result<BTreeMap<u64, SysvSegment>, Error> {
    let mut segments = BTreeMap::new();
    // key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap
    for (number, line) in file.lines().skip(1) {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let segment = segment(&fields);
        let malformed = || file.malformed(number, "the fields of a segment", line);
        let (shmid, segment) = segment.ok_or_else(malformed)?;
        segments.insert(shmid, segment);
    }
    Ok(segments)
}

fn segment(fields: &[&str]) -> Option<(u64, SysvSegment)> {
    fn number<T: std::str::FromStr>(fields: &[&str], index: usize) -> Option<T> {
        fields.get(index)?.parse().ok()
    }
    let segment = SysvSegment {
        key: number::<i32>(fields, 0)?.cast_unsigned(),
        bytes: number(fields, 3)?,
        creator_pid: number(fields, 4)?,
        attached: number(fields, 6)?,
        owner_uid: number(fields, 7)?,
    };
    Some((number(fields, 1)?, segment))
}

/// Removes segment `id` if user `creator` created it with `key` and no process has it attached;
/// returns whether it did. Succeeds if the segment does not exist.
///
/// # Errors
/// When it belongs to another user.
pub fn remove_if_unused(key: i32, id: i32, creator: u32) -> Result<bool, SystemCallError> {
    // SAFETY: zeroes are a valid value of this plain structure.
    let mut status: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure of ours that the kernel fills.
    if unsafe { libc::shmctl(id, libc::IPC_STAT, &raw mut status) } != 0 {
        let error = SystemCallError::last("shmctl", format!("{id}, IPC_STAT"));
        let is_gone = matches!(error.errno(), Some(libc::EINVAL | libc::EIDRM));
        return if is_gone { Ok(false) } else { Err(error) };
    }
    let of = &status.shm_perm;
    if of.__key != key || of.cuid != creator || status.shm_nattch != 0 {
        return Ok(false);
    }
    // SAFETY: removing takes no pointer; the segment was just found to be unused.
    if unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) } != 0 {
        return Err(SystemCallError::last("shmctl", format!("{id}, IPC_RMID")));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_segment_of_that_key_and_creator_is_removed() {
        let key = 0x6e75_6d61_i32.wrapping_add(std::process::id().cast_signed());
        // SAFETY: the call takes no pointer.
        let id = unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
        assert!(id >= 0);
        let user = crate::process::user();
        assert!(!remove_if_unused(key + 1, id, user).unwrap());
        assert!(!remove_if_unused(key, id, user + 1).unwrap());
        assert!(remove_if_unused(key, id, user).unwrap());
        assert!(!remove_if_unused(key, id, user).unwrap());
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("head\n(-?[0-9x]{0,21} ?){0,9}\n?", &|text| {
            let _ = parse(&TextFile::new("/shm", text));
        });
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
        let expected = SysvSegment {
            key: 0x85a6_66e4,
            bytes: 4096,
            creator_pid: 7,
            attached: 2,
            owner_uid: 0,
        };
        assert_eq!(read(&root).unwrap()[&32770], expected);
        std::fs::write(&path, format!("{head}1 2 3\n")).unwrap();
        assert!(read(&root).unwrap_err().to_string().contains("line 2"));
    }
}
