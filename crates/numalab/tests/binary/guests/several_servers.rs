//! Two real Redis of one machine: the doctor gives each a node, its lines are typed by a shell, and
//! the kernel's numa_maps and affinities judge; on two nodes and on four.
//!
//! Tests of judgement, residency.

use std::fs;

use serde_json::Value;

use super::cures::{nodes, share_on};
use super::holder::{cpus_of, use_cpus};
use super::kernel_setting::pages_stay_where_they_are;
use crate::laboratory::Laboratory;
use crate::redis_program::REDIS;
use crate::redis_targets::{self, Redis};

/// The id of the finding.
const UNPLACED: &str = "instances-unplaced";

/// A server whose memory is on this node.
fn filled_on(node: usize, test: &str) -> Option<Redis> {
    let launcher = ["taskset", "-c", &cpus_of(node)].map(str::to_owned);
    let settings = ["--save", "", "--enable-debug-command", "yes"];
    let redis = Redis::start_behind(&launcher, REDIS, test, &settings)?;
    redis.fill(30_000);
    Some(redis)
}

fn finding(document: &Value) -> Option<&Value> {
    let mut findings = document["findings"].as_array().unwrap().iter();
    findings.find(|it| it["id"] == UNPLACED)
}

/// Does what the doctor says of these servers, which its `words` name.
#[track_caller]
fn are_placed(laboratory: &Laboratory, words: &[&str], servers: [&Redis; 2]) {
    let words = [&["doctor"], words, &["--json"]].concat();
    let before = laboratory.document(&words);
    let found = finding(&before).unwrap_or_else(|| panic!("{before:#}"));
    assert_eq!(before["plan"], Value::Null, "{before:#}");
    let lines = found["fix"].as_array().unwrap().iter();
    let lines: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
    laboratory.script(&lines.join("\n")).with_code(0);
    let homes = servers.map(|redis| {
        let pid = redis.server.pid();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let all = nodes("are_placed").unwrap();
        let mut nodes = 0..all;
        let list = |node: &usize| format!("Cpus_allowed_list:\t{}\n", cpus_of(*node));
        let home = nodes.find(|node| status.contains(&list(node)));
        let home = home.unwrap_or_else(|| panic!("{status}"));
        let share = share_on(&[pid], home);
        assert!(share > 0.98, "{share} on node {home}: {found:#}");
        home
    });
    assert_ne!(homes[0], homes[1], "{found:#}");
    let after = laboratory.document(&words);
    assert_eq!(finding(&after), None, "{after:#}");
}

#[test]
fn each_gets_a_node_of_its_own() {
    let test = "each_gets_a_node_of_its_own";
    let Some(nodes) = nodes(test) else {
        return;
    };
    let _settings = pages_stay_where_they_are();
    let mut laboratory = Laboratory::new();
    laboratory.launch_behind(&["env", &redis_targets::password()]);
    let last = nodes - 1;
    let (Some(first), Some(second)) = (filled_on(0, test), filled_on(last, test)) else {
        return;
    };
    // Crosswise: each is given back the CPUs of its memory.
    use_cpus(&[first.server.pid()], &cpus_of(last));
    use_cpus(&[second.server.pid()], &cpus_of(0));
    are_placed(&laboratory, &["redis-server"], [&first, &second]);
    drop(second);
    // Both on one node, and on CPUs of all: the memory of one of them moves.
    let Some(third) = filled_on(0, test) else {
        return;
    };
    let everywhere: Vec<_> = (0..nodes).map(cpus_of).collect();
    let everywhere = everywhere.join(",");
    let pids = [first.server.pid(), third.server.pid()];
    use_cpus(&pids, &everywhere);
    // Without a target, all servers of the machine are looked at.
    are_placed(&laboratory, &[], [&first, &third]);
    laboratory.run(&["undo"]).with_code(0);
    assert!(
        pids.iter()
            .all(|pid| share_on(std::slice::from_ref(pid), 0) > 0.98)
    );
    laboratory.nothing_is_left();
}
