//! A nameless data file, newly created, read and written at given positions into and out of shared
//! memory. It vanishes with the last process that has it open.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::SystemCallError;
use crate::shared_memory::Mapping;

/// A data file.
#[derive(Debug)]
pub struct DataFile {
    fd: OwnedFd,
    direct: bool,
}

/// How another numalab process finds the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataFileTicket {
    /// Number of an inherited file descriptor.
    pub descriptor: RawFd,
    /// As [`DataFile::is_direct`].
    pub direct: bool,
}

impl DataFile {
    /// Creates a file of `bytes` on the file system of `directory` and allocates its blocks.
    ///
    /// Opens it with `O_DIRECT` where the file system supports that. Otherwise the page cache,
    /// which lies on some node, would answer in place of the device.
    ///
    /// # Errors
    /// `ENOENT` when there is no such directory, `ENOSPC` when the file system is full,
    /// `EOPNOTSUPP` when it does not support nameless files.
    pub fn create(directory: &Path, bytes: u64) -> Result<Self, SystemCallError> {
        let open = |flags: OFlags| {
            // No close-on-exec: sessions inherit the descriptor.
            let flags = flags | OFlags::TMPFILE | OFlags::RDWR;
            rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)
        };
        let (opened, direct) = match open(OFlags::DIRECT) {
            Err(Errno::INVAL | Errno::OPNOTSUPP) => (open(OFlags::empty()), false),
            opened => (opened, true),
        };
        let arguments = || format!("data file of {bytes} bytes in {}", directory.display());
        let failed = |call, cause: Errno| SystemCallError::with(call, arguments(), cause.into());
        let fd = opened.map_err(|cause| failed("open", cause))?;
        match rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, bytes) {
            // Without fallocate, writes find out whether the file system is full.
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(cause) => return Err(failed("fallocate", cause)),
        }
        rustix::fs::ftruncate(&fd, bytes).map_err(|cause| failed("ftruncate", cause))?;
        Ok(DataFile { fd, direct })
    }

    /// Opens the file that another process created.
    ///
    /// # Errors
    /// `EBADF` when no descriptor of the ticket's number was inherited.
    pub fn from_ticket(ticket: DataFileTicket) -> Result<Self, SystemCallError> {
        // SAFETY: no pointer is passed; a number that is not open is refused by the kernel.
        let copy = unsafe { libc::fcntl(ticket.descriptor, libc::F_DUPFD_CLOEXEC, 3) };
        if copy < 0 {
            let arguments = format!("{}, F_DUPFD_CLOEXEC", ticket.descriptor);
            return Err(SystemCallError::last("fcntl", arguments));
        }
        // SAFETY: the descriptor was just created and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(copy) };
        Ok(DataFile {
            fd,
            direct: ticket.direct,
        })
    }

    /// The ticket by which a child finds this file.
    pub fn ticket(&self) -> DataFileTicket {
        DataFileTicket {
            descriptor: self.fd.as_raw_fd(),
            direct: self.direct,
        }
    }

    /// Whether reads and writes bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Reads from `position` into the parts of `memory` that begin at `offsets`, each of
    /// `part_bytes`, one after the other. Other processes may read those parts at the same time.
    ///
    /// # Errors
    /// The kernel's; an error of kind `UnexpectedEof` when the file ends early.
    pub fn read(
        &self,
        position: u64,
        memory: &Mapping,
        offsets: &[usize],
        part_bytes: usize,
    ) -> Result<(), SystemCallError> {
        let mut parts = Vectors::new(memory, offsets, part_bytes);
        self.all_of("preadv", position, &mut parts, |parts, position| {
            // SAFETY: the vectors are parts of a live mapping (`Vectors`), whose readers expect
            // any bytes at any time.
            unsafe { libc::preadv(self.fd.as_raw_fd(), parts.0, parts.1, position) }
        })
    }

    /// Writes to `position` the parts of `memory` that begin at `offsets`, each of `part_bytes`,
    /// one after the other.
    ///
    /// # Errors
    /// The kernel's, most often `ENOSPC`.
    pub fn write(
        &self,
        position: u64,
        memory: &Mapping,
        offsets: &[usize],
        part_bytes: usize,
    ) -> Result<(), SystemCallError> {
        let mut parts = Vectors::new(memory, offsets, part_bytes);
        self.all_of("pwritev", position, &mut parts, |parts, position| {
            // SAFETY: the vectors are parts of a live mapping (`Vectors`).
            unsafe { libc::pwritev(self.fd.as_raw_fd(), parts.0, parts.1, position) }
        })
    }

    /// Flushes everything written to the device (fdatasync(2)).
    ///
    /// # Errors
    /// The kernel's.
    pub fn sync(&self) -> Result<(), SystemCallError> {
        rustix::fs::fdatasync(&self.fd)
            .map_err(|cause| SystemCallError::with("fdatasync", "the data file", cause.into()))
    }

    /// Repeats a call that may transfer less than requested until everything is transferred.
    fn all_of(
        &self,
        call: &'static str,
        position: u64,
        parts: &mut Vectors,
        transfer: impl Fn((*const libc::iovec, i32), i64) -> isize,
    ) -> Result<(), SystemCallError> {
        let wanted = parts.bytes();
        let mut done = 0;
        while done < wanted {
            let moved = transfer(parts.rest(), (position + done as u64) as i64);
            let arguments = || format!("data file, {wanted} bytes at {position}");
            match usize::try_from(moved) {
                Ok(0) => {
                    let cause = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Err(SystemCallError::with(call, arguments(), cause));
                }
                Ok(moved) => {
                    parts.advance(moved);
                    done += moved;
                }
                Err(_) => {
                    let error = SystemCallError::last(call, arguments());
                    if error.cause.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The most parts per call: enough for the read-ahead of a scan.
pub const PARTS_MAX: usize = 32;

/// Parts of a mapping, on the stack: nothing is allocated inside a measured window.
struct Vectors {
    parts: [libc::iovec; PARTS_MAX],
    first: usize,
    count: usize,
}

impl Vectors {
    fn new(memory: &Mapping, offsets: &[usize], part_bytes: usize) -> Self {
        assert!(offsets.len() <= PARTS_MAX, "so many parts were announced");
        let mut parts = [libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        }; PARTS_MAX];
        for (part, offset) in parts.iter_mut().zip(offsets) {
            assert!(
                offset
                    .checked_add(part_bytes)
                    .is_some_and(|end| end <= memory.len()),
                "the part lies in the mapping"
            );
            part.iov_base = memory.address().wrapping_byte_add(*offset);
            part.iov_len = part_bytes;
        }
        Vectors {
            parts,
            first: 0,
            count: offsets.len(),
        }
    }

    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.iov_len).sum()
    }

    fn rest(&self) -> (*const libc::iovec, i32) {
        (
            self.parts[self.first..].as_ptr(),
            (self.count - self.first) as i32,
        )
    }

    /// Skips the first `bytes`, which have been transferred.
    fn advance(&mut self, mut bytes: usize) {
        for part in &mut self.parts[self.first..self.count] {
            let taken = bytes.min(part.iov_len);
            part.iov_base = part.iov_base.wrapping_byte_add(taken);
            part.iov_len -= taken;
            bytes -= taken;
            if part.iov_len > 0 {
                break;
            }
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::DataFile;
    use crate::shared_memory::{Mapping, ObjectKind, SharedMemory};

    const BLOCK: usize = 8192;

    fn memory() -> Mapping {
        let memory =
            SharedMemory::create(ObjectKind::Memfd, 8 * BLOCK, crate::process::page_bytes())
                .unwrap();
        memory.map().unwrap()
    }

    fn fill(memory: &Mapping, block: usize, byte: u8) {
        // SAFETY: the block lies in the mapping, which nothing else uses.
        unsafe {
            let start = memory.address().cast::<u8>().add(block * BLOCK);
            start.write_bytes(byte, BLOCK);
        }
    }

    fn first_byte(memory: &Mapping, block: usize) -> u8 {
        // SAFETY: the block lies in the mapping, which nothing else uses.
        unsafe { memory.address().cast::<u8>().add(block * BLOCK).read() }
    }

    #[test]
    fn what_is_written_is_read_into_scattered_parts_by_another_holder() {
        let folder = tempfile::tempdir().unwrap();
        let file = DataFile::create(folder.path(), 4 * BLOCK as u64).unwrap();
        let memory = memory();
        for block in 0..4 {
            fill(&memory, block, 10 + block as u8);
            file.write((block * BLOCK) as u64, &memory, &[block * BLOCK], BLOCK)
                .unwrap();
        }
        file.sync().unwrap();
        let other = DataFile::from_ticket(file.ticket()).unwrap();
        assert_eq!(other.is_direct(), file.is_direct());
        let offsets = [7, 5].map(|block| block * BLOCK);
        other.read(BLOCK as u64, &memory, &offsets, BLOCK).unwrap();
        assert_eq!((first_byte(&memory, 7), first_byte(&memory, 5)), (11, 12));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_was_cut_is_an_error_with_its_position() {
        let folder = tempfile::tempdir().unwrap();
        let file = DataFile::create(folder.path(), 4 * BLOCK as u64).unwrap();
        let path = format!("/proc/self/fd/{}", file.ticket().descriptor);
        let opened = std::fs::File::options().write(true).open(path).unwrap();
        opened.write_at(b"x", 0).unwrap();
        opened.set_len(2 * BLOCK as u64).unwrap();
        let memory = memory();
        file.read(0, &memory, &[0, BLOCK], BLOCK).unwrap();
        let error = file.read(BLOCK as u64, &memory, &[0, BLOCK], BLOCK);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("16384 bytes at 8192"), "{error}");
    }

    #[test]
    fn no_directory_and_no_room_are_errors_that_name_it() {
        let error = DataFile::create("/nonexistent".as_ref(), 1).unwrap_err();
        assert!(error.to_string().contains("/nonexistent"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let error = DataFile::create(folder.path(), 1 << 60).unwrap_err();
        assert!(
            error.to_string().contains("1152921504606846976 bytes"),
            "{error}"
        );
    }
}
