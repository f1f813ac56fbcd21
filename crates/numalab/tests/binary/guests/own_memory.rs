//! Loads in their own memory on two nodes: the pages of each session, and of its file in /dev/shm,
//! lie where they were requested, according to the kernel's own numa_maps while the case is held,
//! and to what numalab reads back in every trial.
//!
//! Tests of instance.

use std::collections::BTreeMap;

use super::held::Held;
use super::kernel_state::KernelState;
use super::{numa_maps, trials};
use crate::experiment_file::ExperimentFile;
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

/// Cases, with their policy, which the file and the kernel name alike, and the nodes that the bytes
/// must be on, evenly.
const CASES: [(&str, &str, &[u64]); 3] = [
    ("near", "bind:0", &[0]),
    ("far", "bind:1", &[1]),
    ("spread", "interleave:0-1", &[0, 1]),
];
/// Bytes of each session.
const BYTES: u64 = 4 << 20;

#[test]
fn the_memory_of_a_hammering_session_is_where_it_was_requested() {
    let test = "the_memory_of_a_hammering_session_is_where_it_was_requested";
    if is_guest(test, "two-node") {
        check("memory-hammer");
    }
}

#[test]
fn the_file_of_a_filling_session_is_where_it_was_requested() {
    let test = "the_file_of_a_filling_session_is_where_it_was_requested";
    if is_guest(test, "two-node") {
        check("shm-fill");
    }
}

#[track_caller]
fn check(work: &str) {
    let laboratory = Laboratory::new();
    let state = KernelState::read(&laboratory);
    let defaults = format!(
        "[placement]\ncpus = \"first-node\"\n\
         [load]\nwork = \"{work}\"\nsessions = 1\nown-memory = \"4MiB\""
    );
    let mut experiment = ExperimentFile::new("near", &defaults).about_memory();
    for (name, policy, _) in CASES {
        experiment = experiment.case(name, &format!("own-allocation = \"{policy}\""));
    }
    let path = laboratory.file("own.toml", experiment.text());
    let run = trials::run(&laboratory, &path, "0.1");
    for (name, policy, nodes) in CASES {
        let share = BYTES / nodes.len() as u64;
        let evenly =
            |each: u64| -> BTreeMap<u64, u64> { nodes.iter().map(|it| (*it, each)).collect() };
        let held = Held::look(&laboratory, &path, name);
        let [session] = &held.sessions[..] else {
            panic!("{name}: {} sessions", held.sessions.len());
        };
        let own = session.maps.iter().filter(|it| it.policy == policy);
        let pages = numa_maps::pages(own);
        assert_eq!(pages, evenly(share / 4096), "{name}: the kernel's pages");
        assert_eq!(session.cpus, "0-1", "{name}: CPUs allowed");
        for trial in trials::valid(&run, name) {
            let memory = &trial["evidence"]["sessions"][0]["own_memory"];
            for when in ["bytes_by_node_before", "bytes_by_node_after"] {
                let found = trials::bytes(&memory[when]);
                assert_eq!(found, evenly(share), "{name}: {when}: {trial:#}");
            }
        }
    }
    state.is_unchanged();
}
