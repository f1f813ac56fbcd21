//! A file in /dev/shm that is written from start to end, emptied, and written again, as with dd.
//!
//! Nearly all of its CPU time is spent in the kernel, which finds, clears and fills pages.
//!
//! One piece: 1 MiB by pwrite(2). Verified: every byte of the file, read back.

use linux::shared_memory::{Mapping, ObjectKind, SharedMemory};
use linux::shared_memory_file::SharedMemoryFile;
use model::OwnMemory;

use super::load::mix;
use super::{Ingredients, Load};
use crate::Error;
use crate::buffer_cache::Reader;

/// Bytes per write.
const WRITE_BYTES: usize = 1 << 20;

/// The load.
pub(super) struct ShmFill {
    own: OwnMemory,
    file: SharedMemoryFile,
    /// Mapping used only to query its pages; never accessed, since the file may be full or empty.
    mapping: Mapping,
    pattern: Vec<u8>,
    position: u64,
    bytes: u64,
}

impl ShmFill {
    /// Creates the file and writes it once.
    pub(super) fn new(of: &Ingredients<'_>) -> Result<Self, Error> {
        let bytes = of.own.bytes.next_multiple_of(WRITE_BYTES as u64);
        let failed = |cause| shortage(bytes, cause);
        let page_bytes = linux::process::page_bytes();
        let memory = SharedMemory::create(ObjectKind::Shm, bytes as usize, page_bytes);
        let memory = memory.map_err(failed)?;
        let mapping = memory.map().map_err(failed)?;
        // From here on the file has the policy and keeps it when its pages are freed.
        placement::allocate_mapping(&mapping, &of.own.allocation, &[])?;
        let pattern =
            (0..WRITE_BYTES as u64 / 8).flat_map(|word| mix(of.seed ^ word).to_le_bytes());
        let mut fill = ShmFill {
            own: of.own.clone(),
            file: SharedMemoryFile::of(&memory).map_err(failed)?,
            mapping,
            pattern: pattern.collect(),
            position: 0,
            bytes,
        };
        fill.complete()?;
        Ok(fill)
    }

    /// Writes the rest of the file, and maps every page in this process.
    fn complete(&mut self) -> Result<(), Error> {
        while self.position < self.bytes {
            self.write()?;
        }
        let populated = self.mapping.populate_for_reading();
        populated.map_err(|cause| shortage(self.bytes, cause))
    }

    fn write(&mut self) -> Result<(), Error> {
        let written = self.file.write(&self.pattern, self.position);
        written.map_err(|cause| shortage(self.bytes, cause))?;
        self.position += WRITE_BYTES as u64;
        Ok(())
    }
}

fn shortage(bytes: u64, cause: linux::SystemCallError) -> Error {
    Error::OwnMemory {
        what: "a file in /dev/shm",
        bytes,
        cause,
        way_out: "free room in /dev/shm, or as root: mount -o remount,size=… /dev/shm; or set a \
                  smaller own-memory, or fewer sessions",
    }
}

impl Load for ShmFill {
    fn piece(&mut self, _: &mut Reader<'_>) -> Result<u64, Error> {
        if self.position >= self.bytes {
            let emptied = self.file.empty(self.bytes);
            emptied.map_err(|cause| shortage(self.bytes, cause))?;
            self.position = 0;
        }
        self.write()?;
        Ok(WRITE_BYTES as u64)
    }

    fn memory(&self) -> Option<(usize, usize)> {
        Some((self.mapping.address().addr(), self.mapping.len()))
    }

    /// Verifies that the file is complete and that every byte is as written.
    fn verify(&mut self) -> Result<(), Error> {
        self.complete()?;
        let mut read = vec![0; WRITE_BYTES];
        for position in (0..self.bytes).step_by(WRITE_BYTES) {
            let found = self.file.read(&mut read, position);
            found.map_err(|cause| shortage(self.bytes, cause))?;
            if read != self.pattern {
                return Err(Error::WrongResult {
                    what: "a file in /dev/shm",
                    found: format!("other bytes from byte {position} on, of {}", self.own.bytes),
                    expected: "what was written".to_owned(),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::SessionLoad;

    use super::super::load::tests::with_load;
    use super::WRITE_BYTES;

    #[test]
    fn a_file_is_filled_emptied_and_filled_again() {
        with_load(SessionLoad::ShmFill, 3 << 20, |load, reader| {
            for _ in 0..5 {
                assert_eq!(load.piece(reader).unwrap(), WRITE_BYTES as u64);
            }
            load.verify().unwrap();
            assert_eq!(load.memory().unwrap().1, 3 << 20);
        });
    }
}
