//! flock(2) on files, and on what the kernel shows as files: a shared memory object, a process, a
//! setting. The lock belongs to the object itself, by whatever name it is opened; the kernel
//! releases it when its holder ends, however that happens.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::Root;

/// A lock that is held until the value is dropped.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Takes the lock of a file if it is free; `None` when another process holds it.
    ///
    /// # Errors
    /// When the file system does not support such locks.
    pub fn try_take(file: &File) -> io::Result<Option<Self>> {
        let file = file.try_clone()?;
        match file.try_lock() {
            Ok(()) => Ok(Some(FileLock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(cause)) => Err(cause),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // The file was cloned, so closing it is not enough. If unlocking fails, the end of the
        // process releases the lock.
        let _ = self.0.unlock();
    }
}

/// Opens a file or directory to lock it; `None` when it does not exist. Follows no links and never
/// waits for a pipe.
///
/// # Errors
/// When it may not be read.
pub fn open(path: &Path) -> io::Result<Option<File>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if is_gone(&cause) => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Opens the file that stands for the memory of a process, which takes permission to inspect the
/// process; `None` when it has ended.
///
/// # Errors
/// When the process may not be inspected.
pub fn open_process(root: &Root, pid: u32) -> io::Result<Option<File>> {
    open(&root.path(&format!("proc/{pid}/maps")))
}

fn is_gone(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::NotFound || cause.raw_os_error() == Some(libc::ESRCH)
}

/// The process that holds the lock of a file; `None` when there is none, or it is not visible from
/// here, as a process of another container.
pub fn holder(root: &Root, file: &File) -> Option<u32> {
    let status = file.metadata().ok()?;
    let (major, minor) = (
        rustix::fs::major(status.dev()),
        rustix::fs::minor(status.dev()),
    );
    let locks = root.read_lossy("proc/locks").ok()?;
    let object = format!("{major:02x}:{minor:02x}:{}", status.ino());
    // 4: FLOCK  ADVISORY  WRITE 32327 00:01:1025 0 EOF
    locks.lines().find_map(|(_, line)| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "FLOCK", _, _, pid, of, ..] = words[..] else {
            return None;
        };
        pid.parse().ok().filter(|_| of == object)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_who_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let open = || File::open(&path).unwrap();
        let (one, other) = (open(), open());
        let root = Root::live();
        assert_eq!(holder(&root, &one), None);
        let lock = FileLock::try_take(&one).unwrap().unwrap();
        assert!(FileLock::try_take(&other).unwrap().is_none());
        assert_eq!(holder(&root, &other), Some(std::process::id()));
        drop(lock);
        let again = FileLock::try_take(&other).unwrap();
        assert!(again.is_some(), "the file that was locked is still open");
    }

    #[test]
    fn a_process_and_a_directory_are_locked_whoever_opens_them() {
        let process = || open_process(&Root::live(), std::process::id()).unwrap();
        let directory = || open(Path::new("/proc/self/task")).unwrap();
        for (one, other) in [(process(), process()), (directory(), directory())] {
            let (one, other) = (one.unwrap(), other.unwrap());
            let _lock = FileLock::try_take(&one).unwrap().unwrap();
            assert!(FileLock::try_take(&other).unwrap().is_none());
        }
        assert!(
            open_process(&Root::live(), i32::MAX as u32)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_link_is_not_followed_to_what_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        assert!(open(&link).is_err());
        assert!(open(&folder.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn a_list_of_locks_that_cannot_be_read_names_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path().join("proc");
        std::fs::create_dir(&proc).unwrap();
        let file = File::open(&proc).unwrap();
        let root = Root::at(folder.path()).unwrap();
        assert_eq!(holder(&root, &file), None);
        for text in [
            "",
            "1:\n",
            "1: FLOCK ADVISORY\n",
            "\u{fffd}: FLOCK a b c d\n",
        ] {
            std::fs::write(proc.join("locks"), text).unwrap();
            assert_eq!(holder(&root, &file), None);
        }
    }
}
