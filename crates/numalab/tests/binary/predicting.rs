//! `numalab predict` on a real Redis, on processes of this machine and on described machines: it
//! changes nothing, its figures are those of the doctor, and what cannot be is refused.
//!
//! Tests of judgement, residency, topology.

use std::fs;

use linux::Root;
use serde_json::Value;
use testing::Tree;

use crate::laboratory::Laboratory;
use crate::redis_program::REDIS;
use crate::redis_targets::Redis;
use crate::running::Running;

/// Two nodes; a process on the CPUs of node 0 (0-1) with memory on both, mostly on node 1, partly
/// in huge pages.
fn two_nodes() -> Tree {
    let mut tree = Tree::captured("two-node").unwrap();
    let numa_maps = "7f0000000000 prefer:1 file=/SYSV00000000\\040(deleted) huge dirty=64 mapmax=2 \
                     N1=64 kernelpagesize_kB=2048\n\
                     7f1000000000 default anon=131072 N0=32768 N1=98304 kernelpagesize_kB=4\n";
    let stat = format!("7 (numalab-test) S 1 1 1 0 -1 0 {}\n", "0 ".repeat(40));
    let status = "Name:\tnumalab-test\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0-1\n";
    tree.set("proc/7/stat", stat)
        .set("proc/7/cmdline", "numalab-test\0")
        .set("proc/7/status", status)
        .set("proc/7/numa_maps", numa_maps);
    tree
}

fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{path} in {value:#}"))
}

#[test]
fn a_process_on_two_nodes_has_its_figures_by_the_firmware() {
    let laboratory = Laboratory::new();
    let unpacked = two_nodes().expand_in_memory().unwrap();
    let root = unpacked.path().to_str().unwrap();
    let words = ["predict", "7", "--root", root];
    let placements = ["--to", "0", "--to", "interleave", "--to", "cpus:2-3"];
    let document = laboratory.document(&[&words[..], &placements, &["--json"]].concat());
    assert_eq!(document["format"], "numalab.predict/1");
    assert_eq!(document["distances_by"], Value::Null);
    // 128 MiB on node 0; on node 1, at a distance of 21, 512 MiB, 128 of them in huge pages.
    let is_near = |path: &str, expected: f64| {
        let found = number(&document, path);
        assert!((found - expected).abs() < 1e-9, "{path}: {found}");
    };
    is_near("/now/remote_share", 0.8);
    is_near("/now/relative_access", 0.2 + 0.8 * 2.1);
    is_near("/now/fullest_share", 0.8);
    is_near("/placements/0/after/relative_access", 1.0);
    is_near("/placements/0/cpu_time_change_at_most", 1.0 / 1.88 - 1.0);
    is_near("/placements/1/after/remote_share", 0.5);
    is_near("/placements/2/after/remote_share", 0.2);
    is_near("/placements/2/bytes_to_move", 0.0);
    let needs = &document["placements"][0]["needs"];
    let expected = [(Value::Null, 384 << 20), (Value::from(2 << 20), 128 << 20)];
    for (at, (page_bytes, bytes)) in expected.into_iter().enumerate() {
        let need = &needs[at];
        assert_eq!((&need["node"], &need["bytes"]), (&0.into(), &bytes.into()));
        assert_eq!(need["huge_page_bytes"], page_bytes);
    }
    let text = laboratory.run(&[&words[..], &placements].concat());
    let text = text.with_code(0).stdout;
    let mut rows = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let expected = "0 0 % 1.00 100 % 512 MiB -47 % at most"
        .split(' ')
        .collect::<Vec<_>>();
    assert!(rows.any(|row| row == expected), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    // Without a placement: those of the doctor's plan.
    let plan = &laboratory.document(&["doctor", "7", "--root", root, "--json"])["plan"];
    let document = laboratory.document(&[&words[..], &["--json"]].concat());
    let mut of_plan = document["placements"].as_array().unwrap().iter();
    let of_plan = of_plan.find(|it| it["placement"] == plan["cure"]).unwrap();
    for key in ["after", "bytes_to_move"] {
        assert_eq!(of_plan[key], plan[key]);
    }
    assert_eq!(document["now"], plan["before"]);
}

#[test]
fn a_server_is_not_touched() {
    const TEST: &str = "a_server_is_not_touched";
    let Some(redis) = Redis::start_kind(REDIS, TEST, &["--enable-debug-command", "yes"]) else {
        return;
    };
    redis.fill(5_000);
    let laboratory = Laboratory::new();
    let pid = redis.server.pid();
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let policies = || {
        let maps = read("numa_maps");
        let words = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        maps.lines().map(words).collect::<Vec<_>>()
    };
    let cpus = || {
        let status = read("status");
        let mut lines = status.lines();
        lines
            .find(|line| line.starts_with("Cpus_allowed:"))
            .unwrap()
            .to_owned()
    };
    let before = (policies(), cpus());
    let document = laboratory.document(&["predict", &redis.target(), "--json"]);
    assert_eq!((policies(), cpus()), before);
    let placements = document["placements"].as_array().unwrap();
    let names: Vec<_> = placements
        .iter()
        .map(|it| it["placement"].as_str())
        .collect();
    assert!(names.contains(&Some("near-cpus")), "{document:#}");
    if placements.len() == 1 {
        // All of it is on the one node.
        assert_eq!(document["now"]["remote_share"], 0.0);
        assert_eq!(placements[0]["bytes_to_move"], 0);
    }
    let text = laboratory.run(&["predict", &redis.target()]).with_code(0);
    assert!(
        text.stdout.contains("Placements of redis:"),
        "{}",
        text.stdout
    );
    laboratory.nothing_is_left();
}

#[test]
fn what_cannot_be_predicted_is_refused_by_name() {
    let laboratory = Laboratory::new();
    let sleeper = Running::start(&["sleep", "1000"]);
    let pid = sleeper.pid();
    let check = |words: &[&str], code: i32, expected: &[&str]| {
        let refused = laboratory
            .run(&[&["predict"], words].concat())
            .with_code(code);
        refused.says(expected);
        assert_eq!(refused.stdout, "", "{words:?}");
    };
    check(
        &[&pid, "--to", "77"],
        2,
        &["77 is impossible: there is no node 77", "hint: "],
    );
    check(
        &[&pid, "--to", "nodes:77"],
        2,
        &["nodes:77", "no CPUs on node 77"],
    );
    check(&[&pid, "--to", "cpus:8191"], 2, &["no CPU 8191 online"]);
    check(&[&pid, "--to", "near"], 2, &["\"near\" is no placement"]);
    check(&[&pid, "--shared"], 2, &["--to"]);
    check(&[], 2, &["TARGET"]);
    check(&[&pid, "--window", "2"], 2, &["--dose"]);
    check(&[&pid, "--dose", "--root", "/"], 2, &["--root"]);
    check(&[&pid, "--dose", "--window", "0.5"], 2, &["at least 1 s"]);
    let nodes = linux::sysfs_nodes::with_memory(&Root::live()).unwrap();
    if nodes.is_none_or(|nodes| nodes.len() < 2) {
        check(
            &[&pid, "--dose"],
            2,
            &["cannot dose", "one node with memory", "hint: "],
        );
    }
    let mut tree = two_nodes();
    let unpacked = tree.set("proc/7/numa_maps", "").expand_in_memory().unwrap();
    let root = unpacked.path().to_str().unwrap();
    check(
        &["7", "--root", root],
        2,
        &["cannot predict for 7: no memory of it is known"],
    );
    let unpacked = two_nodes()
        .set("proc/7/status", "Name:\tx\n")
        .expand_in_memory()
        .unwrap();
    let root = unpacked.path().to_str().unwrap();
    check(
        &["7", "--root", root],
        2,
        &["on which nodes its processes run is unknown"],
    );
    let shown = laboratory
        .run(&["predict", &pid, "--to", "current"])
        .with_code(0);
    assert!(shown.stdout.contains("current"), "{}", shown.stdout);
}
