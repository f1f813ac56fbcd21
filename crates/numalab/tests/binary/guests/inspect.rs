//! `numalab inspect` on article 000's eight nodes: shared memory that was bound, interleaved or
//! left alone is found where the kernel's own counters say it went, the same for two processes and
//! for fifty, and the inspection allocates nothing.
//!
//! Tests of residency, linux.

use std::collections::BTreeMap;

use serde_json::Value;

use super::holder::Holder;
use super::kernel_setting::{KernelSettings, numbers};
use super::look::{Counters, Look, Uncounted, by_node};
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

const MIB: u64 = 128;
/// Shared memory that other processes of the guest may allocate or free on a node meanwhile: one
/// page, as seen when the first process of a boot created a memfd.
pub(super) const OTHERS_BYTES: u64 = 4096;
const ALL: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

#[test]
fn bound_memory_is_found_where_the_kernel_counts_it() {
    let test = "bound_memory_is_found_where_the_kernel_counts_it";
    is_found(test, "--membind=3", 2, &[3]);
}

#[test]
fn interleaved_memory_is_found_where_the_kernel_counts_it() {
    let test = "interleaved_memory_is_found_where_the_kernel_counts_it";
    is_found(test, "--interleave=all", 2, &ALL);
}

#[test]
fn memory_of_fifty_processes_is_found_once() {
    let test = "memory_of_fifty_processes_is_found_once";
    is_found(test, "--interleave=all", 50, &ALL);
}

#[test]
fn memory_without_policy_is_found_where_the_kernel_counts_it() {
    let test = "memory_without_policy_is_found_where_the_kernel_counts_it";
    is_found(test, "--physcpubind=4", 2, &[2]);
}

/// Looks twice at a segment that this many processes attached, placed by this option of numactl.
#[track_caller]
fn is_found(test: &str, placement: &str, processes: usize, nodes: &[usize]) {
    if !is_guest(test, "eight-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let _uncounted = Uncounted::mounted_for(&laboratory);
    let before = Counters::read();
    let holder = Holder::start(&["numactl", placement], MIB, processes, "memfd");
    for _ in 0..2 {
        let look = Look::at(&laboratory, &holder.pid());
        look.agrees(&before, OTHERS_BYTES, processes);
        let segment = segment(&look.residency);
        let found = by_node(&segment["bytes_by_node"]);
        assert_eq!(
            found.keys().copied().collect::<Vec<_>>(),
            nodes,
            "{segment:#}"
        );
        assert_eq!(found.values().sum::<u64>(), MIB << 20, "{segment:#}");
        assert_eq!(segment["complete"], true, "{segment:#}");
        assert_eq!(segment["processes"], processes, "{segment:#}");
    }
    let bound = laboratory.document(&["inspect", &holder.pid(), "--numa-maps", "--json"]);
    assert_eq!(
        bound["complete"], false,
        "numa_maps is no exact method: {bound:#}"
    );
    let lower: u64 = by_node(&segment(&bound)["bytes_by_node"]).values().sum();
    assert!(lower <= MIB << 20, "{bound:#}");
}

#[test]
fn huge_pages_are_found_as_they_were_taken_from_the_pools() {
    let test = "huge_pages_are_found_as_they_were_taken_from_the_pools";
    if !is_guest(test, "eight-node") {
        return;
    }
    const POOL: u64 = 12;
    let free = || numbers("hugepages/hugepages-2048kB/free_hugepages");
    let laboratory = Laboratory::new();
    let _pools = KernelSettings::huge_pages(POOL);
    let before = free();
    assert_eq!(before, [POOL; 8]);
    let holder = Holder::start(&["numactl", "--interleave=all"], 64, 2, "memfd-huge");
    let during = free();
    let residency = laboratory.document(&["inspect", &holder.pid(), "--json"]);
    assert_eq!(free(), during, "free after the look");
    let segment = segment(&residency);
    assert_eq!(segment["page_bytes"], 2 << 20, "{segment:#}");
    assert_eq!(segment["complete"], true, "{segment:#}");
    assert_eq!(segment["policy"], "interleave:0-7", "{segment:#}");
    let taken = before
        .iter()
        .zip(&during)
        .map(|(before, during)| (before - during) << 21);
    let taken: BTreeMap<usize, u64> = taken.enumerate().filter(|(_, bytes)| *bytes > 0).collect();
    let found = by_node(&segment["bytes_by_node"]);
    assert_eq!(found, taken, "found, and taken from the pools");
    assert_eq!(found.values().sum::<u64>(), 64 << 20);
}

/// The pages of a sample are chosen from a fixed seed and the layout is regular, so the outcome is
/// always the same; of eight intervals of 95 % each, two may miss.
#[test]
fn intervals_of_a_sample_cover_the_exact_shares() {
    let test = "intervals_of_a_sample_cover_the_exact_shares";
    if !is_guest(test, "eight-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let _uncounted = Uncounted::mounted_for(&laboratory);
    let before = Counters::read();
    let holder = Holder::start(&["numactl", "--interleave=all"], MIB, 2, "memfd");
    let during = Counters::read();
    let sampled = laboratory.document(&["inspect", &holder.pid(), "--sample", "--json"]);
    assert_eq!(
        Counters::read().shmem_bytes,
        during.shmem_bytes,
        "Shmem after the sample"
    );
    let look = Look::at(&laboratory, &holder.pid());
    look.agrees(&before, OTHERS_BYTES, 2);
    assert_eq!(sampled["method"], "pagemap-sampled", "{sampled:#}");
    assert_eq!(sampled["complete"], false, "{sampled:#}");
    let exact = by_node(&segment(&look.residency)["bytes_by_node"]);
    let total: u64 = exact.values().sum();
    let segment = segment(&sampled);
    let shares = segment["sampled"]["share_by_node"].as_object().unwrap();
    let covers = |(node, share): &(&String, &Value)| {
        let part = exact[&node.parse().unwrap()] as f64 / total as f64;
        let end = |key: &str| share[key].as_f64().unwrap();
        end("low") <= part && part <= end("high")
    };
    let covered = shares.iter().filter(covers).count();
    assert!(
        covered >= 6 && shares.len() == 8,
        "{covered} cover {exact:?}: {segment:#}"
    );
    let estimated: u64 = by_node(&segment["bytes_by_node"]).values().sum();
    assert_eq!(estimated, total, "{segment:#}");
}

/// Returns the segment of a [`Holder`].
#[track_caller]
fn segment(residency: &Value) -> &Value {
    let mut segments = residency["segments"].as_array().unwrap().iter();
    let is_ours = |segment: &&Value| {
        let name = segment["name"].as_str();
        name.is_some_and(|name| name.starts_with("/memfd:numalab-check"))
    };
    segments
        .find(is_ours)
        .unwrap_or_else(|| panic!("no segment of ours in {residency:#}"))
}
