//! A shared memory object as a file: accessed through system calls, not through a mapping.
//!
//! Where touching a page of a full tmpfs would cause SIGBUS, these calls return an error.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::SystemCallError;
use crate::shared_memory::SharedMemory;

/// The object as a file, accessed at explicit positions.
#[derive(Debug)]
pub struct SharedMemoryFile {
    file: File,
}

impl SharedMemoryFile {
    /// The file behind `memory`.
    ///
    /// # Errors
    /// When no descriptor is left; `EINVAL` for a System V segment, which is not a file.
    pub fn of(memory: &SharedMemory) -> Result<Self, SystemCallError> {
        let copied = match memory.descriptor() {
            Some(descriptor) => descriptor.try_clone(),
            None => Err(std::io::Error::from_raw_os_error(libc::EINVAL)),
        };
        let copied = copied.map_err(|cause| SystemCallError::with("dup", "the file", cause))?;
        Ok(SharedMemoryFile {
            file: copied.into(),
        })
    }

    /// The path under which this process can open it again.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Writes all of `bytes` at `position` (pwrite(2)).
    ///
    /// # Errors
    /// `ENOSPC` when the file system is full; `ENOMEM` when the allowed nodes have no free page.
    pub fn write(&self, bytes: &[u8], position: u64) -> Result<(), SystemCallError> {
        let written = self.file.write_all_at(bytes, position);
        let arguments = || format!("{} bytes at {position}", bytes.len());
        written.map_err(|cause| SystemCallError::with("pwrite", arguments(), cause))
    }

    /// Fills `bytes` from `position` (pread(2)).
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends early.
    pub fn read(&self, bytes: &mut [u8], position: u64) -> Result<(), SystemCallError> {
        let count = bytes.len();
        let read = self.file.read_exact_at(bytes, position);
        let arguments = || format!("{count} bytes at {position}");
        read.map_err(|cause| SystemCallError::with("pread", arguments(), cause))
    }

    /// Frees every page and keeps the length of the file (ftruncate(2), twice).
    ///
    /// # Errors
    /// When the kernel refuses, which it does for nothing that was written here.
    pub fn empty(&self, bytes: u64) -> Result<(), SystemCallError> {
        let set = |bytes: u64| {
            let length = self.file.set_len(bytes);
            let arguments = || format!("{bytes} bytes");
            length.map_err(|cause| SystemCallError::with("ftruncate", arguments(), cause))
        };
        set(0)?;
        set(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::SharedMemoryFile;
    use crate::process::page_bytes;
    use crate::shared_memory::{ObjectKind, SharedMemory};

    #[test]
    fn what_is_written_is_read_and_an_emptied_file_is_zeroes() {
        let bytes = (2 * page_bytes()).max(8192) as usize;
        let memory = SharedMemory::create(ObjectKind::Shm, bytes, page_bytes()).unwrap();
        let file = SharedMemoryFile::of(&memory).unwrap();
        file.write(&[7; 4096], 4096).unwrap();
        let mut read = [0; 2];
        file.read(&mut read, 4095).unwrap();
        assert_eq!(read, [0, 7]);
        file.empty(bytes as u64).unwrap();
        file.read(&mut read, 4095).unwrap();
        assert_eq!(read, [0, 0]);
        let error = file.read(&mut read, bytes as u64 - 1).unwrap_err();
        assert!(error.to_string().contains("pread"), "{error}");
    }

    #[test]
    fn a_segment_is_no_file() {
        let memory = SharedMemory::create(
            ObjectKind::Sysv { key: None },
            page_bytes() as usize,
            page_bytes(),
        )
        .unwrap();
        assert!(SharedMemoryFile::of(&memory).is_err());
    }
}
