//! The counter of an instance that is held up: the logical reads of all sessions, in a memfd that
//! other processes find below /proc/PID/fd, and that is gone with the instance.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use linux::plain_file;
use linux::shared_memory::{Mapping, SharedMemory};

use crate::Error;
use crate::instance::Instance;
use crate::sga::slice;

/// What the kernel calls the memfd.
const NAME: &str = "numalab-counter";
/// Identifies the memfd: `numalctr`.
const MAGIC: u64 = u64::from_be_bytes(*b"numalctr");
/// The words: [`MAGIC`], 1 if reads have an emulated cost, logical reads.
const WORDS: u32 = 3;
/// How the kernel names a memfd below /proc/PID/fd.
const MEMFD: &str = "/memfd:";
/// An instance has few descriptors; those beyond are not looked at.
const DESCRIPTORS_MAX: usize = 10_000;

/// The counter, as the instance writes it.
pub(crate) struct Published {
    /// Others open it by its descriptor.
    _memory: SharedMemory,
    mapping: Mapping,
}

impl Published {
    /// Makes the counter of this process.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(crate) fn new(has_emulated_cost: bool) -> Result<Self, Error> {
        let memory = SharedMemory::named(NAME, linux::process::page_bytes() as usize)?;
        let mapping = memory.map()?;
        let words = words(&mapping);
        words[1].store(u64::from(has_emulated_cost), Ordering::Relaxed);
        words[0].store(MAGIC, Ordering::Release);
        Ok(Published {
            _memory: memory,
            mapping,
        })
    }

    /// Writes how much the sessions have read.
    pub(crate) fn write(&self, instance: &Instance<'_>) {
        let (reads, _) = instance.sga.live_totals();
        words(&self.mapping)[2].store(reads, Ordering::Relaxed);
    }
}

fn words(mapping: &Mapping) -> &[AtomicU64] {
    assert!(mapping.len() >= WORDS as usize * size_of::<u64>());
    // SAFETY: the mapping lives as long as the slice and has these words, which was just checked.
    // Any bytes are valid values, and any process may write at any time.
    unsafe { slice(mapping.address().cast_const(), WORDS) }
}

/// Where the counter of a held instance is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldCounter {
    pid: u32,
    descriptor: i32,
    /// Whether its reads have an emulated cost.
    pub has_emulated_cost: bool,
}

impl HeldCounter {
    /// The counter of a process; `None` if it is no instance that is held up, or may not be read.
    pub fn of_process(pid: u32) -> Option<Self> {
        let folder = format!("/proc/{pid}/fd");
        let entries = observed::entries(folder.as_ref(), DESCRIPTORS_MAX).ok()?;
        let memfds = entries.filter(|entry| {
            let object = std::fs::read_link(entry.path());
            object.is_ok_and(|object| object.to_string_lossy().starts_with(MEMFD))
        });
        let mut numbers = memfds.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.find_map(|descriptor| {
            let [magic, cost, _] = read(pid, descriptor).ok()?;
            (magic == MAGIC).then_some(HeldCounter {
                pid,
                descriptor,
                has_emulated_cost: cost == 1,
            })
        })
    }

    /// Logical reads so far.
    ///
    /// # Errors
    /// When the instance has ended.
    pub fn logical_reads(&self) -> io::Result<u64> {
        match read(self.pid, self.descriptor)? {
            [MAGIC, _, reads] => Ok(reads),
            _ => Err(io::Error::other("it is no counter any more")),
        }
    }
}

/// The words of a counter. What another process has open is read and never mapped.
fn read(pid: u32, descriptor: i32) -> io::Result<[u64; WORDS as usize]> {
    const BYTES: usize = size_of::<u64>();
    let bytes = plain_file::read_of_process(pid, descriptor, (WORDS as usize * BYTES) as u64)?;
    let word = |at: usize| {
        let word = bytes.get(at * BYTES..(at + 1) * BYTES)?;
        Some(u64::from_ne_bytes(word.try_into().ok()?))
    };
    let words = word(0).zip(word(1)).zip(word(2));
    let ((magic, cost), reads) = words.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok([magic, cost, reads])
}

#[cfg(test)]
mod tests {
    use linux::shared_memory::ObjectKind;

    use super::*;

    #[test]
    fn a_counter_is_found_by_its_process_and_only_there() {
        let page_bytes = linux::process::page_bytes();
        let _other =
            SharedMemory::create(ObjectKind::Memfd, page_bytes as usize, page_bytes).unwrap();
        let _empty = SharedMemory::create(ObjectKind::Memfd, 0, page_bytes).unwrap();
        let counter = Published::new(true).unwrap();
        words(&counter.mapping)[2].store(7, Ordering::Relaxed);
        let found = HeldCounter::of_process(std::process::id()).unwrap();
        assert!(found.has_emulated_cost);
        assert_eq!(found.logical_reads().unwrap(), 7);
        drop(counter);
        assert!(found.logical_reads().is_err());
        assert_eq!(HeldCounter::of_process(i32::MAX as u32), None);
    }
}
