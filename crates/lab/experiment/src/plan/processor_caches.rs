//! Sizes a buffer cache beyond the processor's caches.

use model::{Backing, SgaPlan};

use super::host::Host;
use crate::definition::{CaseDefinition, Definition, Engine, WorkChoice};

/// Minimum buffer cache for `beyond-caches`, in bytes: many times the reach of second-level caches
/// and TLBs.
const BYTES_MIN: u64 = 64 << 20;
/// Buffer cache for `beyond-caches` where the cache sizes are unknown, in bytes.
const BYTES_UNKNOWN: u64 = 256 << 20;
/// Ratio of the buffer cache to the last-level caches of first-node. These caches can then answer
/// at most a quarter of random reads. (Article 000 saw no difference between near and far memory
/// with 8 MB of blocks; the 24 MB cache of its processor explains that.)
const TIMES: u64 = 4;
/// Maximum buffer cache of rows for `beyond-caches`, in bytes: loading more takes seconds for each
/// trial.
const BYTES_OF_ROWS_MAX: u64 = 2 << 30;
/// Maximum share of the memory available on first-node, and to this control group: trials that
/// alternate are up at once.
const SHARE_OF_AVAILABLE: u64 = 8;

impl Host {
    /// Returns the bytes of all last-level caches that CPUs of first-node use; `None` when unknown.
    fn last_level_cache_bytes(&self) -> Option<u64> {
        let cpus = &self.first_node().ok()?.cpus;
        let caches = self.topology.caches.iter();
        let caches: Vec<_> = caches.filter(|cache| cache.holds_data()).collect();
        let of_node = caches.iter().filter_map(|cache| {
            let bytes = cache.size_bytes?.checked_mul(cache.count_of(cpus) as u64)?;
            (bytes > 0).then_some((cache.level, bytes))
        });
        let mut of_node: Vec<(u32, u64)> = of_node.collect();
        let last = of_node.iter().map(|(level, _)| *level).max()?;
        let mut without_sharers = caches.iter().filter(|cache| cache.shared_by.is_none());
        if without_sharers.any(|cache| cache.level >= last) {
            return None;
        }
        of_node.retain(|(level, _)| *level == last);
        let bytes = of_node.iter().map(|(_, bytes)| *bytes);
        Some(bytes.fold(0, u64::saturating_add))
    }

    /// Returns the buffer cache for `beyond-caches` on this machine, in bytes, a multiple of 1 MiB.
    pub(crate) fn bytes_beyond_caches(&self) -> u64 {
        const MIB: u64 = 1 << 20;
        let Some(caches) = self.last_level_cache_bytes() else {
            return BYTES_UNKNOWN;
        };
        let beyond = caches
            .saturating_mul(TIMES)
            .div_ceil(MIB)
            .saturating_mul(MIB);
        beyond.max(BYTES_MIN)
    }

    /// Returns the buffer cache for `beyond-caches`, in bytes: the same for all cases of an
    /// experiment. Where one of them takes it from a pool of huge pages or from /dev/shm, which are
    /// small, it is as large as if all of it were used.
    pub(crate) fn cache_beyond_caches(&self, definition: &Definition) -> u64 {
        let base_bytes = self.topology.base_page_bytes();
        let has_room = |case: &CaseDefinition| {
            case.work == WorkChoice::LogicalReads
                && case.page_size.bytes(base_bytes) == base_bytes
                && case.backing != Backing::Shm
        };
        match definition.engine == Engine::Instance && definition.cases.iter().all(has_room) {
            true => self.rows_beyond_caches(),
            false => self.bytes_beyond_caches(),
        }
    }

    /// Returns the same for a buffer cache of rows, of which reads use few lines: many times as
    /// much as where all of it is used, as far as there is memory and time to load it.
    fn rows_beyond_caches(&self) -> u64 {
        let all_used = self.bytes_beyond_caches();
        // Speeds of an emulated machine mean nothing.
        let (Some(caches), Some(false) | None) =
            (self.last_level_cache_bytes(), self.topology.emulated)
        else {
            return all_used;
        };
        let first_node = self.first_node().ok();
        let available = first_node.and_then(|node| self.obtainable_bytes(node.id));
        let beyond = caches.saturating_mul(TIMES * SgaPlan::BYTES_PER_BYTE_USED);
        let available = available.unwrap_or(0);
        let available = available.min(self.group_left_bytes.unwrap_or(u64::MAX));
        let most = BYTES_OF_ROWS_MAX.min(available / SHARE_OF_AVAILABLE);
        let whole = |bytes: u64| bytes >> 20 << 20;
        whole(beyond.min(most)).max(all_used)
    }

    /// Returns whether the size of the processor's caches determines `beyond-caches`: smaller
    /// caches would mean a smaller buffer cache.
    pub fn caches_make_memory_larger(&self) -> bool {
        self.last_level_cache_bytes().is_some() && self.rows_beyond_caches() > BYTES_MIN
    }

    /// Returns the bytes of first-node's last-level caches if they may serve more than a fourth of
    /// random accesses to memory of which this many bytes are used.
    pub(crate) fn caches_that_hide(&self, used_bytes: u64) -> Option<u64> {
        self.last_level_cache_bytes()
            .filter(|caches| used_bytes < caches.saturating_mul(TIMES))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_hosts::{article_000, one_node, second};
    use super::*;
    use model::{Cache, CacheKind};

    const MIB: u64 = 1 << 20;

    #[test]
    fn large_caches_make_a_larger_buffer_cache() {
        let mut machine = article_000();
        let bytes = |machine: &_| Host::new(machine).bytes_beyond_caches();
        // One last-level cache of 24 MiB.
        assert_eq!(bytes(&machine), 96 * MIB);
        assert!(Host::new(&machine).caches_make_memory_larger());
        assert_eq!(
            Host::new(&machine).caches_that_hide(64 * MIB),
            Some(24 * MIB)
        );
        assert_eq!(Host::new(&machine).caches_that_hide(96 * MIB), None);
        // Two last-level caches of 96 MiB on the node, four on the machine.
        let shared_by = ["1-5", "6-10,41-50", "11-15", "16-20"];
        machine.caches.push(Cache {
            level: 4,
            kind: CacheKind::Unified,
            size_bytes: Some(96 * MIB),
            line_bytes: None,
            shared_by: Some(shared_by.map(|cpus| cpus.parse().unwrap()).to_vec()),
        });
        assert_eq!(bytes(&machine), 768 * MIB);
        // When the number of last-level caches is unknown, lower levels do not help.
        machine.caches.last_mut().unwrap().shared_by = None;
        assert_eq!(bytes(&machine), 256 * MIB);
        assert!(!Host::new(&machine).caches_make_memory_larger());
        assert_eq!(Host::new(&machine).caches_that_hide(1), None);
    }

    #[test]
    fn of_rows_few_lines_are_used() {
        let mut machine = article_000();
        let bytes = |machine: &_| Host::new(machine).rows_beyond_caches();
        // Of 24 MiB, 128 times as much would take too long to load.
        assert_eq!(bytes(&machine), 2048 * MIB);
        // There is not enough memory for several such caches.
        machine.nodes[0].free_bytes = Some(8 * 300 * MIB + 5);
        assert_eq!(bytes(&machine), 300 * MIB);
        let mut host = Host::new(&machine);
        host.group_left_bytes = Some(8 * 200 * MIB);
        assert_eq!(host.rows_beyond_caches(), 200 * MIB);
        machine.nodes[0].free_bytes = None;
        assert_eq!(bytes(&machine), 96 * MIB);
        machine.nodes[0].free_bytes = Some(1 << 40);
        machine.caches[0].size_bytes = Some(2 * MIB);
        assert_eq!(bytes(&machine), 256 * MIB);
        machine.emulated = Some(true);
        assert_eq!(bytes(&machine), 64 * MIB);
    }

    #[test]
    fn all_cases_have_a_cache_for_which_pools_have_room() {
        let machine = article_000();
        let bytes = |case: &str| Host::new(&machine).cache_beyond_caches(&second(case));
        assert_eq!(bytes(""), 2048 * MIB);
        for case in ["page-size = \"2MiB\"", "backing = \"shm\""] {
            assert_eq!(bytes(case), 96 * MIB, "{case}");
        }
    }

    #[test]
    fn unknown_caches_are_taken_for_usual_ones() {
        let machine = one_node(2);
        assert_eq!(Host::new(&machine).bytes_beyond_caches(), 256 * MIB);
        assert_eq!(Host::new(&machine).caches_that_hide(1), None);
    }
}
