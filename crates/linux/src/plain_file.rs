//! Files in folders that another user may write to: what has the name may be a link, a pipe, or
//! without end. Whoever opens such a name as root must not be led elsewhere, nor made to wait.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Reads at most the first `bytes_max` bytes of a regular file; `None` when there is no such file.
/// Bytes that are not UTF-8 become replacement characters.
///
/// # Errors
/// When it may not be read, or is a symbolic link (`ELOOP`) or no regular file.
pub fn read_start(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Opens a regular file for reading. It is opened first and looked at then, so that what was looked
/// at is what is read.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::read_start;

    #[test]
    fn only_a_regular_file_is_read_and_only_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("plain"), b"12\xff456789").unwrap();
        assert_eq!(
            read_start(&path("plain"), 4).unwrap().unwrap(),
            "12\u{fffd}4"
        );
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
