//! Compares what `numalab inspect` finds with what the kernel counts on each node before, during
//! and after the look.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::kernel_setting::nodes;
use crate::laboratory::Laboratory;

/// Maximum number of pages of a node that a look may take and that the kernel could not have back
/// at once (16 MiB): the other processes of the guest take some meanwhile, 130 at most in twelve
/// looks beside builds. Pages of files that were read are not among them: of the program itself, a
/// look at fifty processes read 4,100 once. A look that touches its target would take 60,000 of a
/// PostgreSQL, and Shmem, which is compared exactly, would grow by as much.
const TAKEN_PAGES_MAX: u64 = 4096;

/// A ramfs in the place of a laboratory's folder, whose pages the kernel does not count as shared
/// memory, as it does those of the guest's other file systems.
pub(super) struct Uncounted<'l>(&'l Laboratory);

impl<'l> Uncounted<'l> {
    /// Mounts it, and fills the caches of the kernel as a first inspection does, so that later ones
    /// find them filled.
    pub(super) fn mounted_for(laboratory: &'l Laboratory) -> Self {
        let mut mount = Command::new("mount");
        mount.args(["-t", "ramfs", "none"]).arg(laboratory.folder());
        assert!(mount.status().unwrap().success());
        let mounted = Self(laboratory);
        fs::create_dir(laboratory.state()).unwrap();
        laboratory.document(&["inspect", &std::process::id().to_string(), "--json"]);
        mounted
    }
}

impl Drop for Uncounted<'_> {
    fn drop(&mut self) {
        let mut unmount = Command::new("umount");
        let _ = unmount.arg("--lazy").arg(self.0.folder()).status();
    }
}

/// What the kernel counts on each node.
pub(super) struct Counters {
    pub(super) shmem_bytes: Vec<u64>,
    /// Those on the lists of the CPUs, of files and of caches, too.
    available_pages: Vec<u64>,
}

impl Counters {
    /// First makes every CPU flush its counters: the kernel otherwise adds them up only once a
    /// second, and shows a node without them until then (mm/vmstat.c).
    pub(super) fn read() -> Self {
        fs::write("/proc/sys/vm/stat_refresh", "1").unwrap();
        let shmem_bytes = nodes("meminfo").into_iter().map(|file| {
            let text = fs::read_to_string(file).unwrap();
            let kib = text.lines().find_map(|line| line.split_once(" Shmem:"));
            let kib = kib.unwrap().1.trim().strip_suffix(" kB").unwrap();
            kib.parse::<u64>().unwrap() * 1024
        });
        let shmem_bytes: Vec<_> = shmem_bytes.collect();
        Self {
            available_pages: available_pages(shmem_bytes.len()),
            shmem_bytes,
        }
    }
}

/// Reads /proc/zoneinfo, of which the lines that count are:
///
/// ```text
/// Node 0, zone      DMA
///   per-node stats
///       nr_slab_reclaimable 2710
///   pages free     2304
///       nr_zone_inactive_file 120
///       nr_zone_active_file 14
///               count: 63
/// ```
fn available_pages(nodes: usize) -> Vec<u64> {
    let mut available = vec![0; nodes];
    let mut node = 0;
    for line in fs::read_to_string("/proc/zoneinfo").unwrap().lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["Node", id, ..] => node = id.trim_end_matches(',').parse().unwrap(),
            ["pages", "free", pages]
            | [
                "count:" | "nr_slab_reclaimable" | "nr_zone_active_file" | "nr_zone_inactive_file",
                pages,
            ] => available[node] += pages.parse::<u64>().unwrap(),
            _ => {}
        }
    }
    available
}

/// One look, with what the kernel counted around it.
pub(super) struct Look {
    during: Counters,
    after: Counters,
    /// The document `numalab.residency/1`.
    pub(super) residency: Value,
}

impl Look {
    /// Looks again, up to a hundred times, if shared memory changed meanwhile, as that of a newly
    /// started server does.
    pub(super) fn at(laboratory: &Laboratory, target: &str) -> Self {
        let look = || Self {
            during: Counters::read(),
            residency: laboratory.document(&["inspect", target, "--json"]),
            after: Counters::read(),
        };
        let is_still = |look: &Self| look.during.shmem_bytes == look.after.shmem_bytes;
        let mut looks = (0..100).map(|_| look());
        looks
            .find(is_still)
            .unwrap_or_else(|| panic!("Shmem changes at each look at {target}"))
    }

    /// Asserts that this many processes were found; that what was found on each node is, within
    /// `others_bytes`, what Shmem has grown by since `before`; and that the look has not taken more
    /// than [`TAKEN_PAGES_MAX`].
    #[track_caller]
    pub(super) fn agrees(&self, before: &Counters, others_bytes: u64, processes: usize) {
        let residency = &self.residency;
        assert_eq!(residency["method"], "pagemap", "{residency:#}");
        let found = residency["processes"].as_array().unwrap().len();
        assert_eq!(found, processes, "processes of {residency:#}");
        let found = self.shared_memory();
        assert!(!self.during.shmem_bytes.is_empty());
        for (node, during) in self.during.shmem_bytes.iter().enumerate() {
            let grown = during.saturating_sub(before.shmem_bytes[node]);
            let bytes = found.get(&node).copied().unwrap_or(0);
            assert!(
                grown.abs_diff(bytes) <= others_bytes,
                "node {node}: Shmem grew by {grown}, found {bytes} in {residency:#}"
            );
            let taken =
                self.during.available_pages[node].saturating_sub(self.after.available_pages[node]);
            assert!(
                taken <= TAKEN_PAGES_MAX,
                "the look took {taken} pages of node {node}, {TAKEN_PAGES_MAX} at most expected"
            );
        }
    }

    /// Returns all shared memory that was found, by node.
    pub(super) fn shared_memory(&self) -> BTreeMap<usize, u64> {
        shared_memory(&self.residency)
    }
}

/// Returns all shared memory of a document, by node: everything but programs and files.
pub(super) fn shared_memory(residency: &Value) -> BTreeMap<usize, u64> {
    let mut sum = BTreeMap::new();
    for segment in residency["segments"].as_array().unwrap() {
        if !matches!(segment["kind"].as_str(), Some("program-text" | "file")) {
            for (node, bytes) in by_node(&segment["bytes_by_node"]) {
                *sum.entry(node).or_default() += bytes;
            }
        }
    }
    sum
}

/// Reads bytes by node.
#[track_caller]
pub(super) fn by_node(bytes: &Value) -> BTreeMap<usize, u64> {
    serde_json::from_value(bytes.clone()).unwrap()
}
