//! The counter of an instance that is held up: the logical reads of all sessions, in a memfd that
//! other processes find below /proc/PID/fd, and that is gone with the instance.

use std::sync::atomic::{AtomicU64, Ordering};

use linux::SystemCallError;
use linux::shared_memory::{Mapping, ObjectKind, SharedMemory, Ticket};

use crate::Error;
use crate::instance::Instance;
use crate::sga::slice;

/// Identifies the memfd: `numalctr`.
const MAGIC: u64 = u64::from_be_bytes(*b"numalctr");
/// The words: [`MAGIC`], 1 if reads have an emulated cost, logical reads.
const WORDS: u32 = 3;
/// How the kernel names a memfd below /proc/PID/fd.
const MEMFD: &str = "/memfd:";

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
        let page_bytes = linux::process::page_bytes();
        let memory = SharedMemory::create(ObjectKind::Memfd, page_bytes as usize, page_bytes)?;
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
    ticket: Ticket,
    /// Whether its reads have an emulated cost.
    pub has_emulated_cost: bool,
}

impl HeldCounter {
    /// The counter of a process; `None` if it is no instance that is held up, or may not be read.
    pub fn of_process(pid: u32) -> Option<Self> {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let memfds = entries.flatten().filter(|entry| {
            let object = std::fs::read_link(entry.path());
            object.is_ok_and(|object| object.to_string_lossy().starts_with(MEMFD))
        });
        let numbers = memfds.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut tickets = numbers.map(|descriptor| Ticket::DescriptorOf { pid, descriptor });
        tickets.find_map(|ticket| {
            let mapping = map(ticket).ok()?;
            let [magic, cost, _] = words(&mapping) else {
                return None;
            };
            let is_one = magic.load(Ordering::Acquire) == MAGIC;
            is_one.then(|| HeldCounter {
                ticket,
                has_emulated_cost: cost.load(Ordering::Relaxed) == 1,
            })
        })
    }

    /// Logical reads so far.
    ///
    /// # Errors
    /// When the instance has ended.
    pub fn logical_reads(&self) -> Result<u64, SystemCallError> {
        let mapping = map(self.ticket)?;
        Ok(words(&mapping)[2].load(Ordering::Relaxed))
    }
}

fn map(ticket: Ticket) -> Result<Mapping, SystemCallError> {
    SharedMemory::from_ticket(ticket, linux::process::page_bytes() as usize)?.map()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_process_and_only_there() {
        let _other = SharedMemory::create(ObjectKind::Memfd, 4096, 4096).unwrap();
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
