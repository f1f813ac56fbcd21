//! Regular files by names that another user may redirect in the meantime to a link, a pipe or a
//! device. A name is first held without opening it (`O_PATH`), then checked, and opened through the
//! held descriptor only if it is a regular file: opening a pipe may wait forever or wake its
//! writer, and opening a device may have side effects.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};

/// Reads at most the first `bytes_max` bytes of a regular file; `None` when there is no such file.
/// Replaces invalid UTF-8 by replacement characters.
///
/// # Errors
/// When it may not be read, or is a symbolic link (`ELOOP`) or not a regular file.
pub fn read_start(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Reads at most the last `bytes_max` bytes of a regular file.
///
/// # Errors
/// When it may not be read, or is a symbolic link (`ELOOP`) or not a regular file.
pub fn read_end(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let skipped = file.metadata()?.len().saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads at most the first `bytes_max` bytes of the regular file, or memfd, behind a descriptor of
/// another process. Nothing of it is mapped: its owner may cut it off meanwhile.
///
/// # Errors
/// When it may not be read, is not open any more, or is not a regular file.
pub fn read_of_process(pid: u32, descriptor: i32, bytes_max: u64) -> io::Result<Vec<u8>> {
    let path = format!("/proc/{pid}/fd/{descriptor}");
    let file = open(&hold(Path::new(&path), OFlags::empty())?, 0)?;
    let file = file.ok_or_else(|| io::Error::other("not a regular file"))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file for reading.
///
/// # Errors
/// When it may not be read, or is a symbolic link (`ELOOP`) or not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = open(&hold(path, OFlags::NOFOLLOW)?, 0)?;
    file.ok_or_else(|| io::Error::other("not a regular file"))
}

/// Holds the file of this name, without opening it.
pub(crate) fn hold(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Opens a held file for reading, with these additional flags of open(2); `None` when it is not a
/// regular file.
///
/// # Errors
/// When it may not be read, or is a symbolic link (`ELOOP`).
pub(crate) fn open(held: impl AsFd, flags: i32) -> io::Result<Option<File>> {
    let held = held.as_fd();
    match FileType::from_raw_mode(rustix::fs::fstat(held)?.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(io::Error::from_raw_os_error(libc::ELOOP)),
        _ => return Ok(None),
    }
    let mut options = File::options();
    options.read(true).custom_flags(flags);
    options.open(path_of(held)).map(Some)
}

/// A path to the held file (proc_pid_fd(5)).
pub(crate) fn path_of(held: impl AsFd) -> String {
    format!("/proc/self/fd/{}", held.as_fd().as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::{read_end, read_start};

    #[test]
    fn only_a_regular_file_is_read_and_only_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("plain"), b"12\xff456789").unwrap();
        assert_eq!(
            read_start(&path("plain"), 4).unwrap().unwrap(),
            "12\u{fffd}4"
        );
        assert_eq!(read_end(&path("plain"), 4).unwrap(), b"6789");
        assert_eq!(read_end(&path("plain"), 99).unwrap().len(), 9);
        assert!(read_start(&path("none"), 4).unwrap().is_none());
        std::os::unix::fs::symlink(path("plain"), path("link")).unwrap();
        let error = read_start(&path("link"), 4).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), mode).unwrap();
        assert!(read_start(&path("pipe"), 4).is_err());
        assert!(read_start(folder.path(), 4).is_err());
    }
}
