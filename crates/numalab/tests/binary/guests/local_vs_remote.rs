//! `numalab run local-vs-remote` on article 000's eight nodes: while both placements are held, the
//! kernel itself says where their memory and CPUs are, and how far apart; what numalab read back in
//! every trial agrees; and there is no winner.
//!
//! Tests of experiment, instance.

use std::fs;

use model::CpuSet;

use super::held::Held;
use super::kernel_state::KernelState;
use super::trials;
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

const SHAPE: &str = "eight-node";
/// The cases, and the kernel's distance from node 0 to their memory.
const CASES: [(&str, u64); 2] = [("local", 10), ("remote", 22)];
/// Minimum size of the SGA: that of a readers' table beyond the caches on any machine
/// (docs/instance.md).
const SGA_BYTES_MIN: u64 = 64 << 20;

fn of_node_0(file: &str) -> String {
    fs::read_to_string(format!("/sys/devices/system/node/node0/{file}")).unwrap()
}

/// Asserts that these nodes, which have memory of a case, are this far from node 0 by the kernel's
/// table.
#[track_caller]
fn are_at(distance: u64, nodes: impl IntoIterator<Item = u64>, case: &str) {
    let row = of_node_0("distance");
    let row: Vec<u64> = row
        .split_whitespace()
        .map(|it| it.parse().unwrap())
        .collect();
    for node in nodes {
        let found = row.get(node as usize);
        assert_eq!(found, Some(&distance), "{case}: distance to node {node}");
    }
}

/// Asserts that these CPUs are some of node 0, and no others.
#[track_caller]
fn are_of_node_0(cpus: &str, case: &str) {
    let (found, all): (CpuSet, CpuSet) = (cpus.parse().unwrap(), cpus_of_node_0());
    let is_local = !found.is_empty() && found.is_subset(&all);
    assert!(
        is_local,
        "{case}: CPUs {cpus} of a session are not of node 0"
    );
}

fn cpus_of_node_0() -> CpuSet {
    of_node_0("cpulist").trim().parse().unwrap()
}

#[test]
fn the_kernel_has_both_placements_as_requested() {
    if !is_guest("the_kernel_has_both_placements_as_requested", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let state = KernelState::read(&laboratory);
    for (case, distance) in CASES {
        let held = Held::look(&laboratory, "local-vs-remote", case);
        for mapping in held.sga_of(case, SGA_BYTES_MIN) {
            are_at(distance, mapping.pages.keys().copied(), case);
        }
        for session in &held.sessions {
            are_of_node_0(&session.cpus, case);
        }
    }
    state.is_unchanged();
}

#[test]
fn every_trial_agrees_with_the_kernel_and_none_wins() {
    if !is_guest("every_trial_agrees_with_the_kernel_and_none_wins", SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let state = KernelState::read(&laboratory);
    let run = trials::run(&laboratory, "local-vs-remote", "0.5");
    assert_eq!(run["machine"]["emulated"], true, "{run:#}");
    for (case, distance) in CASES {
        for trial in trials::valid(&run, case) {
            let evidence = &trial["evidence"];
            for when in ["bytes_by_node_before", "bytes_by_node_after"] {
                let bytes = trials::bytes(&evidence["sga"][when]);
                let sum = bytes.values().sum::<u64>();
                assert!(sum >= SGA_BYTES_MIN, "{case}: {when}: {bytes:?}");
                are_at(distance, bytes.into_keys(), case);
            }
            for session in evidence["sessions"].as_array().unwrap() {
                are_of_node_0(session["cpus_used"].as_str().unwrap(), case);
            }
        }
        let rank = &trials::case(&run, case)["rank"];
        assert!(rank.is_null(), "{case}: rank {rank}");
    }
    let comparison = &run["comparisons"][0];
    assert_eq!(comparison["verdict"], "emulated", "{comparison:#}");
    let report = laboratory.run(&["show", "last", "--full"]).with_code(0);
    for words in ["no winner: ", "22 (node 0 to node 4)"] {
        assert!(report.stdout.contains(words), "{words}: {}", report.stdout);
    }
    state.is_unchanged();
}
