//! The memory of another process: `/proc/PID/mem` (proc_pid_mem(5)).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::{Error, Root};

/// The memory of a process, opened for reading.
#[derive(Debug)]
pub struct ProcessMemory {
    file: File,
}

impl ProcessMemory {
    /// Opens the memory of process `pid` of this machine.
    ///
    /// # Errors
    /// When the process is gone, or may not be traced (ptrace(2), `PTRACE_MODE_ATTACH_FSCREDS`).
    pub fn open(root: &Root, pid: u32) -> Result<Self, Error> {
        let path = root.path(&format!("proc/{pid}/mem"));
        let opened = File::open(&path);
        let file = opened.map_err(|cause| Error::Read { path, cause })?;
        Ok(ProcessMemory { file })
    }

    /// Reads the bytes at an address. A page that is not in memory would be brought in: ask the
    /// page map first.
    ///
    /// # Errors
    /// `EIO` where nothing is mapped, or not readable.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_where_it_is() {
        let there = [7_u8, 8, 9];
        let memory = ProcessMemory::open(&Root::live(), std::process::id()).unwrap();
        let mut found = [0; 3];
        memory.read(there.as_ptr() as u64, &mut found).unwrap();
        assert_eq!(found, there);
        assert!(memory.read(0, &mut found).is_err());
        assert!(ProcessMemory::open(&Root::live(), u32::MAX).is_err());
    }
}
