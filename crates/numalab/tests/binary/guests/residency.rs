//! Where the kernel puts every backing with every allocation, in small and huge pages, on four
//! nodes and on thirty-two, and pages of 1 GiB on two: an instance is held for each, and numa_maps,
//! the kernel's own account, agrees with the kernel's rules. With stealing off, what a parallel
//! worker reads is local.
//!
//! Tests of instance, placement.

use super::held::Held;
use super::kernel_state::KernelState;
use super::pools::Pools;
use super::{numa_maps, trials};
use crate::experiment_file::ExperimentFile;
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

const SMALL: u64 = 4 << 10;
const HUGE: u64 = 2 << 20;
const LARGEST: u64 = 1 << 30;

/// A guest: its shape, nodes, CPUs of each, and the pages that its pools have on each node.
struct Guest {
    shape: &'static str,
    nodes: u64,
    cpus: u64,
    pool: (u64, u64),
}

const FOUR_NODES: Guest = Guest {
    shape: "four-node-ring",
    nodes: 4,
    cpus: 2,
    pool: (HUGE, 12),
};
const THIRTY_TWO_NODES: Guest = Guest {
    shape: "thirty-two-node",
    nodes: 32,
    cpus: 1,
    pool: (HUGE, 12),
};
const LARGE_MEMORY: Guest = Guest {
    shape: "large-memory",
    nodes: 2,
    cpus: 1,
    pool: (LARGEST, 2),
};

/// The node whose CPU all processes run on.
const HOME: u64 = 1;

#[derive(Debug, Clone, Copy)]
enum Allocation {
    OsDefault,
    Interleave,
    Bind,
    Prefer,
    PerNode,
}

impl Allocation {
    const ALL: [Allocation; 5] = [
        Allocation::OsDefault,
        Allocation::Interleave,
        Allocation::Bind,
        Allocation::Prefer,
        Allocation::PerNode,
    ];

    /// Returns its name in an experiment file.
    fn word(self, nodes: u64) -> String {
        match self {
            Allocation::OsDefault => "os-default".to_owned(),
            Allocation::Interleave => "interleave:all".to_owned(),
            Allocation::Bind => format!("bind:{}", nodes - 2),
            Allocation::Prefer => format!("prefer:{}", nodes - 1),
            Allocation::PerNode => "per-node:all".to_owned(),
        }
    }

    /// Returns the policies and nodes of the parts of the SGA that have their own policy, in the
    /// order of their addresses.
    fn parts(self, nodes: u64) -> Vec<(String, Vec<u64>)> {
        let everywhere = || {
            let policy = format!("interleave:0-{}", nodes - 1);
            (policy, (0..nodes).collect())
        };
        let on = |policy: &str, node: u64| (policy.replace('N', &node.to_string()), vec![node]);
        match self {
            // Memory lies on the node of the CPU that first touched it, which the file names.
            Allocation::OsDefault => vec![on("default", HOME)],
            Allocation::Interleave => vec![everywhere()],
            Allocation::Bind => vec![on("bind:N", nodes - 2)],
            Allocation::Prefer => vec![on("prefer:N", nodes - 1)],
            Allocation::PerNode => {
                let pools = (0..nodes).map(|node| on("prefer:N", node));
                std::iter::once(everywhere()).chain(pools).collect()
            }
        }
    }

    /// Returns MiB of buffers: a pool has whole pages, and a table has four blocks. The largest
    /// pages are more than one, so that they can be interleaved.
    fn cache_mib(self, page_bytes: u64, nodes: u64) -> u64 {
        match (self, page_bytes) {
            (Allocation::PerNode, HUGE | LARGEST) => (page_bytes >> 20) * nodes,
            (Allocation::Interleave, LARGEST) => LARGEST >> 20,
            _ => 4,
        }
    }
}

/// Returns the keys of a case.
fn keys(backing: &str, page_bytes: u64, allocation: &str, cache_mib: u64) -> String {
    format!(
        "backing = \"{backing}\"\npage-size = \"{}KiB\"\nallocation = \"{allocation}\"\n\
         cache = \"{cache_mib}MiB\"",
        page_bytes >> 10
    )
}

impl Guest {
    /// Returns an experiment without cases. All processes run on one CPU of the home node, which
    /// touches every page first.
    fn experiment(&self, baseline: &str) -> ExperimentFile {
        let cpu = HOME * self.cpus;
        let placement = format!("[placement]\nmechanism = \"affinity\"\ncpus = \"{cpu}\"");
        let defaults = format!("{placement}\n[load]\nsessions = 1");
        ExperimentFile::new(baseline, &defaults).about_memory()
    }

    /// Asserts that the kernel puts this backing where each allocation says; and of huge pages,
    /// that no more are used than there are.
    #[track_caller]
    fn check(&self, test: &str, backing: &str, page_bytes: u64) {
        if !is_guest(test, self.shape) {
            return;
        }
        let laboratory = Laboratory::new();
        let state = KernelState::read(&laboratory);
        let pools = Pools::set(&laboratory, self.pool.0, self.pool.1);
        for allocation in Allocation::ALL {
            let what = format!("{backing} {page_bytes} {allocation:?}");
            let cache_mib = allocation.cache_mib(page_bytes, self.nodes);
            let word = allocation.word(self.nodes);
            let keys = keys(backing, page_bytes, &word, cache_mib);
            let experiment = self.experiment("one").case("one", &keys);
            let path = laboratory.file("residency.toml", experiment.text());
            let held = Held::look(&laboratory, &path, "one");
            let sga = held.sga_of(&what, cache_mib << 20);
            let found: Vec<_> = sga.iter().map(|it| it.found(self.nodes)).collect();
            assert_eq!(found, allocation.parts(self.nodes), "{what}");
            for mapping in sga {
                assert_eq!(mapping.page_bytes, page_bytes, "{what}: {mapping:?}");
                assert!(mapping.spread() <= 1, "{what}: even to a page: {mapping:?}");
            }
            pools.are_free();
        }
        if page_bytes == self.pool.0 {
            self.refuses_more_than_a_pool(&laboratory, backing);
            pools.are_free();
        }
        laboratory.run(&["undo"]).with_code(0);
        state.is_unchanged();
    }

    /// Asserts that more than the pool of node 0 has is refused, though all pools together have it.
    #[track_caller]
    fn refuses_more_than_a_pool(&self, laboratory: &Laboratory, backing: &str) {
        let (page_bytes, pages) = self.pool;
        let cache_mib = (page_bytes >> 20) * pages + 2;
        let keys = keys(backing, page_bytes, "bind:0", cache_mib);
        let experiment = self.experiment("one").case("one", &keys);
        let path = laboratory.file("too_large.toml", experiment.text());
        let refused = laboratory.run(&["run", &path, "--hold", "one"]);
        let size = if page_bytes == LARGEST {
            "1 GiB"
        } else {
            "2 MiB"
        };
        let names_the_pool = format!("{size} pages on node 0 (");
        refused.with_code(3).says(&[&names_the_pool]);
    }
}

#[test]
fn small_pages_of_a_memfd_are_where_requested_on_four_nodes() {
    let test = "small_pages_of_a_memfd_are_where_requested_on_four_nodes";
    FOUR_NODES.check(test, "memfd", SMALL);
}

#[test]
fn small_pages_of_a_segment_are_where_requested_on_four_nodes() {
    let test = "small_pages_of_a_segment_are_where_requested_on_four_nodes";
    FOUR_NODES.check(test, "sysv", SMALL);
}

#[test]
fn small_pages_of_a_file_are_where_requested_on_four_nodes() {
    let test = "small_pages_of_a_file_are_where_requested_on_four_nodes";
    FOUR_NODES.check(test, "shm", SMALL);
}

#[test]
fn huge_pages_of_a_memfd_are_where_requested_on_four_nodes() {
    let test = "huge_pages_of_a_memfd_are_where_requested_on_four_nodes";
    FOUR_NODES.check(test, "memfd", HUGE);
}

#[test]
fn huge_pages_of_a_segment_are_where_requested_on_four_nodes() {
    let test = "huge_pages_of_a_segment_are_where_requested_on_four_nodes";
    FOUR_NODES.check(test, "sysv", HUGE);
}

/// Thirty-two emulated CPUs take turns on one of the host's, so they get fewer cases.
#[test]
fn small_pages_of_a_memfd_are_where_requested_on_many_nodes() {
    let test = "small_pages_of_a_memfd_are_where_requested_on_many_nodes";
    THIRTY_TWO_NODES.check(test, "memfd", SMALL);
}

#[test]
fn huge_pages_of_a_segment_are_where_requested_on_many_nodes() {
    let test = "huge_pages_of_a_segment_are_where_requested_on_many_nodes";
    THIRTY_TWO_NODES.check(test, "sysv", HUGE);
}

#[test]
fn largest_pages_of_a_memfd_are_where_requested() {
    let test = "largest_pages_of_a_memfd_are_where_requested";
    LARGE_MEMORY.check(test, "memfd", LARGEST);
}

#[test]
fn largest_pages_of_a_segment_are_where_requested() {
    let test = "largest_pages_of_a_segment_are_where_requested";
    LARGE_MEMORY.check(test, "sysv", LARGEST);
}

/// Thirty-two emulated CPUs are too slow for a scan with that many workers.
#[test]
fn a_worker_that_steals_nothing_reads_what_is_near() {
    let test = "a_worker_that_steals_nothing_reads_what_is_near";
    let Guest { shape, nodes, .. } = FOUR_NODES;
    if !is_guest(test, shape) {
        return;
    }
    let laboratory = Laboratory::new();
    let state = KernelState::read(&laboratory);
    let defaults = format!(
        "[sga]\ncache = \"8MiB\"\nallocation = \"per-node:all\"\n\
         [load]\nwork = \"parallel-scan\"\nsessions = {nodes}"
    );
    let experiment = ExperimentFile::new("off", &defaults).about_memory();
    let experiment = experiment.case("off", "stealing = \"off\"");
    let path = laboratory.file("scan.toml", experiment.text());
    let run = trials::run(&laboratory, &path, "0.1");
    for trial in trials::valid(&run, "off") {
        let workers = trial["evidence"]["sessions"].as_array().unwrap();
        assert_eq!(workers.len() as u64, nodes, "{trial:#}");
        for (node, worker) in (0..).zip(workers) {
            let bytes = trials::bytes(&worker["bytes_read_by_node"]);
            let all: u64 = bytes.values().sum();
            let near = bytes.get(&node).copied().unwrap_or(0);
            let is_local = all > 0 && near as f64 > 0.95 * all as f64;
            assert!(is_local, "worker {node} read {near} of {all} from its node");
        }
    }
    state.is_unchanged();
}

/// What is expected of numalab's instance is what article 003 shows of a NUMA-aware one: an
/// interleaved area, and a pool on each node.
#[test]
fn the_form_of_a_numa_aware_instance_is_that_of_article_003() {
    let article = include_str!("../../../../machine/residency/tests/article_003/pmon-numa-on.txt");
    let mappings = numa_maps::parse(article);
    let found: Vec<_> = mappings.iter().map(|it| it.found(32)).collect();
    for part in Allocation::PerNode.parts(32) {
        assert!(found.contains(&part), "{part:?} in {found:?}");
    }
}
