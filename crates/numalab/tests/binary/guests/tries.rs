//! `numalab try` on two nodes: shared and private memory goes to the other node and is back, with
//! its policy, when it has ended, and after a kill and `numalab undo`. An emulated machine has no
//! winner.
//!
//! Tests of switchback, relocation, placement, journal.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::holders::Holders;
use crate::laboratory::{Laboratory, UnderWay};
use crate::patience::until;
use crate::unmet_need::is_guest;

const SHAPE: &str = "two-node";
const MIB: u32 = 8;

/// Starts a session on the holders, which do nothing: work is the CPU time of numalab itself.
fn tried<'l>(laboratory: &'l Laboratory, holders: &Holders, to: &str) -> UnderWay<'l> {
    let words = [
        "try",
        &holders.pid,
        "--to",
        to,
        "--metric",
        "file:/proc/self/schedstat",
    ];
    let short = ["--by", "rate", "--window", "2", "--for", "3000", "--json"];
    laboratory.start(&[&words[..], &short].concat())
}

/// Waits until their memory is on node 1, and they may use its CPUs or `cpus`.
fn until_there(session: &mut UnderWay<'_>, holders: &Holders, cpus: &str) {
    until("the memory is there", || {
        assert!(!session.has_ended(), "{}", session.stderr());
        let is_there = holders.pages_on(1) >= MIB * 256 && cpus_of(&holders.pid) == cpus;
        is_there.then_some(())
    });
}

/// Ends a session in which a pair was measured as Ctrl-C does, and returns what came of it.
fn ended(mut session: UnderWay<'_>) -> Value {
    until("a pair was measured", || {
        assert!(!session.has_ended(), "{}", session.stderr());
        session.stderr().contains("pair 1: ").then_some(())
    });
    session.signal(Signal::INT);
    session.finish().with_code(130).document()
}

fn cpus_of(pid: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mut lines = status.lines();
    let cpus = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cpus.unwrap().trim().to_owned()
}

fn memory_goes_to_the_other_node_and_is_back(kind: &str) {
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, MIB, kind, 0);
    let before = holders.nodes();
    let mut session = tried(&laboratory, &holders, "nodes:1+near-cpus");
    until_there(&mut session, &holders, "2-3");
    let ended = ended(session);
    assert_eq!(ended["end"], "interrupted", "{ended}");
    let placement = &ended["placements"][0];
    assert_eq!(placement["verdict"], "undecided", "{ended}");
    assert!(
        !placement["log_ratios"].as_array().unwrap().is_empty(),
        "{ended}"
    );
    assert_eq!(holders.nodes(), before);
    assert_eq!(cpus_of(&holders.pid), "0-1");
    laboratory.nothing_is_left();
    let mut session = tried(&laboratory, &holders, "nodes:1+near-cpus");
    until_there(&mut session, &holders, "2-3");
    session.kill();
    session.finish();
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(holders.nodes(), before);
    assert_eq!(cpus_of(&holders.pid), "0-1");
    laboratory.nothing_is_left();
}

#[test]
fn shared_memory_is_tried_on_the_other_node_and_is_back() {
    if is_guest(
        "shared_memory_is_tried_on_the_other_node_and_is_back",
        SHAPE,
    ) {
        memory_goes_to_the_other_node_and_is_back("memfd");
    }
}

#[test]
fn private_memory_is_tried_on_the_other_node_and_is_back() {
    if is_guest(
        "private_memory_is_tried_on_the_other_node_and_is_back",
        SHAPE,
    ) {
        memory_goes_to_the_other_node_and_is_back("private");
    }
}

#[test]
fn a_plan_and_a_move_of_a_mebibyte_a_second_leave_memory_where_it_was() {
    let test = "a_plan_and_a_move_of_a_mebibyte_a_second_leave_memory_where_it_was";
    if !is_guest(test, SHAPE) {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, MIB, "memfd", 0);
    let before = holders.nodes();
    let words = ["try", &holders.pid, "--to", "1", "--dry-run", "--json"];
    let planned = laboratory.document(&words);
    let bytes = planned["placements"][0]["bytes_to_move"].as_u64().unwrap();
    assert!(bytes >= u64::from(MIB) << 20, "{planned}");
    assert_eq!(holders.nodes(), before);
    // Private memory, too: a move there takes seconds, and so does one back.
    let words = ["try", &holders.pid, "--to", "1", "--mib-per-s", "1"];
    let counted = ["--metric", "file:/proc/self/schedstat", "--by", "rate"];
    let mut session = laboratory.start(&[&words[..], &counted, &["--window", "1"]].concat());
    until_there(&mut session, &holders, "0-1");
    session.signal(Signal::INT);
    let ended = session.finish().with_code(130);
    assert_eq!(holders.nodes(), before);
    let mut lines = ended.stderr.lines();
    let back = lines
        .find_map(|line| line.split_once("back to current in "))
        .unwrap()
        .1;
    let seconds: f64 = back.trim_end_matches(" s").parse().unwrap();
    // Nothing waits after the last piece, of 2 MiB.
    assert!(seconds >= f64::from(MIB - 3), "{}", ended.stderr);
    laboratory.nothing_is_left();
}
