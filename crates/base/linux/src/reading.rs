//! How the files of a root are opened, so that no name leads out of it, and read to their ends.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat2, statat};
use rustix::io::Errno;

/// Most files of the kernel are shorter; it writes /proc/PID/maps by pages of this size.
const USUAL_FILE_BYTES: u64 = 4096;

/// Retries of a lookup while directories are being renamed.
const HOLD_TRIES: u32 = 16;

/// Holds the file at a path that may not lead out of `directory`.
pub(crate) fn hold_within(directory: impl AsFd, path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let hold = || openat2(&directory, path, flags, Mode::empty(), within);
    // The kernel gives up (EAGAIN) when a component of the path was renamed during the lookup.
    let held = (0..HOLD_TRIES).map(|_| hold());
    let held = held.skip_while(|held| matches!(held, Err(Errno::AGAIN)));
    held.into_iter().next().unwrap_or(Err(Errno::AGAIN))
}

/// What tells the end of a file, besides a read of nothing.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Unknown,
    /// A read that is shorter than asked: the kernel writes an attribute of sysfs into the reader's
    /// buffer as a whole (fs/sysfs/file.c).
    ShortRead,
    /// So many bytes: the length of a file of a disk. Files of /proc have none, 0, and those of
    /// sysfs a page.
    After(u64),
}

/// Opens the regular file of this name in `directory`, with its length; `None` if it is anything
/// else, also a link. Should its owner replace it by a pipe after the look at it, neither opening
/// nor reading that waits. A second look would be a sixth of all calls for a machine with thousands
/// of CPUs.
pub(crate) fn open_regular_within(
    directory: &OwnedFd,
    name: &str,
) -> Result<Option<(File, u64)>, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let status = statat(directory, name, flags)?;
    if !FileType::from_raw_mode(status.st_mode).is_file() {
        return Ok(None);
    }
    let bytes = u64::try_from(status.st_size).unwrap_or(0);
    let flags = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    match openat2(directory, name, flags, Mode::empty(), within) {
        Ok(file) => Ok(Some((file.into(), bytes))),
        Err(Errno::LOOP | Errno::XDEV | Errno::AGAIN) => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Reads at most `limit` bytes.
pub(crate) fn read_to_limit(mut file: File, limit: u64, end: End) -> io::Result<Vec<u8>> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    loop {
        // Files of the kernel have no length. Less room than it writes at once would cost more
        // calls.
        let expected = match end {
            End::After(bytes) if bytes > length as u64 => bytes - length as u64 + 1,
            _ => USUAL_FILE_BYTES,
        };
        let room = expected.min(USUAL_FILE_BYTES).min(limit - length as u64) as usize;
        bytes.resize(length + room, 0);
        let read = match file.read(&mut bytes[length..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        length += read;
        let is_all = match end {
            End::Unknown => false,
            End::ShortRead => read < room,
            End::After(bytes) => read < room && length as u64 == bytes,
        };
        if read == 0 || is_all {
            bytes.truncate(length);
            return Ok(bytes);
        }
    }
}
