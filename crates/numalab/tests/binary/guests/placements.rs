//! Every backing, page size, allocation and mechanism of the instance on four nodes, with groups of
//! cgroup v2 or v1: while a case is held, the kernel has its memory, CPUs and nodes as requested;
//! and the evidence of every trial agrees.
//!
//! Tests of placement, instance.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::held::Held;
use super::kernel_state::{KernelState, cgroup_version};
use super::pools::Pools;
use super::trials;
use crate::experiment_file::ExperimentFile;
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

const SHAPE: &str = "four-node-ring";
const NODES: u64 = 4;
const SMALL: u64 = 4096;
const HUGE: u64 = 2 << 20;
/// Huge pages of each node.
const POOL: u64 = 24;
/// Size of the buffers of each case.
const CACHE_BYTES: u64 = 16 << 20;
const DEFAULTS: &str = "[sga]\ncache = \"16MiB\"\n[load]\nsessions = 1";

/// One case: its name, its settings in the file, and what must be seen.
struct Row {
    name: &'static str,
    settings: &'static str,
    page_bytes: u64,
    policy: &'static str,
    nodes: &'static [u64],
    /// The CPUs that processes may use, and the nodes, as the kernel lists them.
    allowed: (&'static str, &'static str),
    /// Whether a processor group carries the placement.
    group: bool,
}

/// The cases.
const ROWS: &[Row] = &[
    Row {
        name: "sysv-huge-interleave",
        settings: r#"backing = "sysv"
page-size = "2MiB"
allocation = "interleave:all"
mechanism = "group"
cpus = "0-3"
memory-nodes = "all""#,
        page_bytes: HUGE,
        policy: "interleave:0-3",
        nodes: &[0, 1, 2, 3],
        allowed: ("0-3", "0-3"),
        group: true,
    },
    Row {
        name: "memfd-huge-bind",
        settings: r#"page-size = "2MiB"
allocation = "bind:3"
mechanism = "group"
cpus = "0-1"
memory-nodes = "3""#,
        page_bytes: HUGE,
        policy: "bind:3",
        nodes: &[3],
        allowed: ("0-1", "3"),
        group: true,
    },
    Row {
        name: "memfd-group-default",
        settings: r#"mechanism = "group"
cpus = "0-1"
memory-nodes = "2""#,
        page_bytes: SMALL,
        policy: "default",
        nodes: &[2],
        allowed: ("0-1", "2"),
        group: true,
    },
    Row {
        name: "sysv-affinity-interleave",
        settings: r#"backing = "sysv"
allocation = "interleave:1,3"
mechanism = "affinity"
cpus = "2-3""#,
        page_bytes: SMALL,
        policy: "interleave:1,3",
        nodes: &[1, 3],
        allowed: ("2-3", "0-3"),
        group: false,
    },
    Row {
        name: "memfd-affinity-bind",
        settings: r#"allocation = "bind:1"
mechanism = "affinity"
cpus = "0"
memory-nodes = "1""#,
        page_bytes: SMALL,
        policy: "bind:1",
        nodes: &[1],
        allowed: ("0", "0-3"),
        group: false,
    },
    Row {
        name: "sysv-huge-default",
        settings: r#"backing = "sysv"
page-size = "2MiB"
mechanism = "affinity"
cpus = "4""#,
        page_bytes: HUGE,
        policy: "default",
        nodes: &[2],
        allowed: ("4", "0-3"),
        group: false,
    },
];

/// A laboratory with the experiment of the rows that a processor group carries, or of the others.
struct Placements {
    laboratory: Laboratory,
    path: String,
    rows: Vec<&'static Row>,
}

impl Placements {
    fn new(group: bool) -> Self {
        let rows: Vec<_> = ROWS.iter().filter(|row| row.group == group).collect();
        let experiment = ExperimentFile::new(rows[0].name, DEFAULTS).about_memory();
        let add = |experiment: ExperimentFile, row: &&Row| experiment.case(row.name, row.settings);
        let experiment = rows.iter().fold(experiment, add);
        let laboratory = Laboratory::new();
        let path = laboratory.file("placements.toml", experiment.text());
        Placements {
            laboratory,
            path,
            rows,
        }
    }

    /// Asserts that the kernel has the memory, CPUs and nodes of each case as requested.
    #[track_caller]
    fn are_held(&self) {
        let state = KernelState::read(&self.laboratory);
        let pools = Pools::set(&self.laboratory, HUGE, POOL);
        for row in &self.rows {
            let name = row.name;
            let held = Held::look(&self.laboratory, &self.path, name);
            let sga = held.sga_of(name, CACHE_BYTES);
            let found: Vec<_> = sga.iter().map(|it| it.found(NODES)).collect();
            let expected = (row.policy.to_owned(), row.nodes.to_vec());
            assert_eq!(found, [expected], "{name}: policy and nodes");
            for mapping in sga {
                assert_eq!(mapping.page_bytes, row.page_bytes, "{name}: {mapping:?}");
                let is_even = mapping.spread() <= 1;
                assert!(is_even, "{name}: even to a page: {mapping:?}");
            }
            for session in &held.sessions {
                let allowed = (&session.cpus[..], &session.memory_nodes[..]);
                assert_eq!(allowed, row.allowed, "{name}: CPUs and nodes allowed");
            }
            pools.are_free();
        }
        self.laboratory.run(&["undo"]).with_code(0);
        state.is_unchanged();
    }

    /// Asserts that the evidence of every trial agrees with what was requested.
    #[track_caller]
    fn are_in_evidence(&self) {
        let state = KernelState::read(&self.laboratory);
        let pools = Pools::set(&self.laboratory, HUGE, POOL);
        let run = trials::run(&self.laboratory, &self.path, "0.2");
        assert_eq!(run["skipped"], json!([]));
        for row in &self.rows {
            for trial in trials::valid(&run, row.name) {
                compare(row, &trial["evidence"]);
            }
        }
        pools.are_free();
        self.laboratory.run(&["undo"]).with_code(0);
        state.is_unchanged();
    }
}

#[test]
fn the_kernel_has_placements_of_groups_as_requested() {
    if is_guest("the_kernel_has_placements_of_groups_as_requested", SHAPE) {
        Placements::new(true).are_held();
    }
}

#[test]
fn the_kernel_has_placements_of_sessions_as_requested() {
    if is_guest("the_kernel_has_placements_of_sessions_as_requested", SHAPE) {
        Placements::new(false).are_held();
    }
}

#[test]
fn trials_in_groups_have_their_placement_in_evidence() {
    if is_guest("trials_in_groups_have_their_placement_in_evidence", SHAPE) {
        Placements::new(true).are_in_evidence();
    }
}

#[test]
fn trials_without_groups_have_their_placement_in_evidence() {
    let test = "trials_without_groups_have_their_placement_in_evidence";
    if is_guest(test, SHAPE) {
        Placements::new(false).are_in_evidence();
    }
}

#[track_caller]
fn compare(row: &Row, evidence: &Value) {
    let what = format!("{}: {evidence:#}", row.name);
    let sga = &evidence["sga"];
    assert_eq!(sga["page_bytes"], row.page_bytes, "{what}");
    assert_eq!(sga["policy"], row.policy, "{what}");
    let before = trials::bytes(&sga["bytes_by_node_before"]);
    assert_eq!(trials::bytes(&sga["bytes_by_node_after"]), before, "{what}");
    assert!(before.keys().eq(row.nodes), "{what}");
    let spread = before.values().max().unwrap() - before.values().min().unwrap();
    assert!(spread <= row.page_bytes, "even to a page: {what}");
    let group = &evidence["group"]["cgroup_version"];
    let expected = row.group.then(cgroup_version);
    assert_eq!(group.as_u64(), expected, "{what}");
    assert_eq!(group.is_null(), !row.group, "{what}");
    if row.page_bytes == HUGE {
        // The kernel counts the pools, independently of the pages that numalab asked about.
        let pages = before.into_iter().map(|(node, bytes)| (node, bytes / HUGE));
        let pages: BTreeMap<u64, u64> = pages.collect();
        assert_eq!(pages_taken(evidence), pages, "taken from the pools: {what}");
    }
}

/// Returns the huge pages that left each node's pool when the SGA was created.
fn pages_taken(evidence: &Value) -> BTreeMap<u64, u64> {
    let free = |when: &str| -> BTreeMap<u64, u64> {
        let pools = evidence[when].as_array().unwrap().iter();
        let pools = pools.filter(|pool| pool["page_bytes"] == HUGE);
        let entry = |pool: &Value| {
            (
                pool["node"].as_u64().unwrap(),
                pool["free"].as_u64().unwrap(),
            )
        };
        pools.map(entry).collect()
    };
    let during = free("huge_pages_during");
    let before = free("huge_pages_before").into_iter();
    let taken = before.map(|(node, free)| (node, free - during[&node]));
    taken.filter(|(_, pages)| *pages > 0).collect()
}
