//! `numalab latency`: the whole matrix is measured, nodes without CPUs are only columns and nodes
//! without memory only rows; the memory and the CPUs of every pair are where they were requested.
//! Errors name what a cpuset or an affinity forbids. What cannot be measured, because a node is
//! full or a CPU goes offline, has a reason, and nothing else is affected.
//!
//! Tests of kernels.

use std::fs;

use model::NodeSet;
use serde_json::{Value, json};

use super::measured_matrix::{Matrix, online_nodes};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::unmet_need::{guest_shape, is_guest};

/// The nodes that are measured, and the last one.
const NODES: usize = 7;

#[test]
fn every_pair_of_nodes_is_measured_where_it_was_requested() {
    let test = "every_pair_of_nodes_is_measured_where_it_was_requested";
    if guest_shape(test).is_none() {
        return;
    }
    let online = online_nodes();
    // Of many nodes some, the first and the last ones too: all pairs of 32 take minutes here.
    let step = online.len().div_ceil(NODES);
    let last = online.iter().next_back();
    let nodes: NodeSet = online.iter().step_by(step).chain(last).collect();
    let list = nodes.to_string();
    // Windows on an emulated machine are short: with more rounds, each pair is seen.
    let words = ["latency", "--json", "--rounds", "20", "--nodes", &list];
    let words = match nodes.len() {
        ..=4 => &words[..],
        _ => &["latency", "--json", "--nodes", &list],
    };
    let matrix = Matrix::measured(&Laboratory::new(), words, &nodes, "ns");
    assert_eq!(matrix.document["hop_classes"], json!([]));
}

#[test]
fn nodes_that_the_affinity_forbids_are_named() {
    let test = "nodes_that_the_affinity_forbids_are_named";
    if guest_shape(test).is_none() {
        return;
    }
    let mut laboratory = Laboratory::new();
    laboratory.launch_behind(&["taskset", "-c", "0"]);
    let measured = laboratory.run(&["latency"]);
    if online_nodes().len() == 1 {
        measured.with_code(0);
    } else {
        let refused = measured.with_code(4);
        refused.says(&["the CPUs of node", "--nodes"]);
    }
}

#[test]
fn nodes_whose_memory_the_cpuset_forbids_are_named() {
    let test = "nodes_whose_memory_the_cpuset_forbids_are_named";
    if !is_guest(test, "memory-only-node") {
        return;
    }
    let script = "cd /sys/fs/cgroup && enabled=$(cat cgroup.subtree_control) &&
        echo +cpuset >cgroup.subtree_control && mkdir only-node-0 &&
        echo 0 >only-node-0/cpuset.mems || exit 99
        sh -c 'echo $$ >only-node-0/cgroup.procs && exec numalab latency'; status=$?
        rmdir only-node-0
        case $enabled in *cpuset*) ;; *) echo -cpuset >cgroup.subtree_control ;; esac
        exit $status";
    let refused = Laboratory::new().script(script).with_code(4);
    refused.says(&["memory of nodes 1-2"]);
}

#[test]
fn curves_and_transfers_are_measured_for_all_nodes() {
    let test = "curves_and_transfers_are_measured_for_all_nodes";
    if !is_guest(test, "memory-only-node") {
        return;
    }
    let words = ["latency", "--curve=all", "--cores", "--json"];
    let document = Laboratory::new().document(&words);
    let count = |key: &str| document[key].as_array().map_or(0, Vec::len);
    // Two nodes with CPUs, three with memory.
    assert_eq!(count("curves"), 6, "{document:#}");
    assert_eq!(count("transfers"), 3, "{document:#}");
}

/// Fills node 2, which has no CPUs: with huge pages, which are quick to allocate, in one file that
/// has them all, and the rest except 9 MiB with small ones, preferred there and not bound. The
/// kernel keeps more than that in reserve: a process bound there that takes more is killed, and
/// numalab must not be.
const FULL_NODE: &str =
    "node=/sys/devices/system/node/node2; pool=$node/hugepages/hugepages-2048kB/nr_hugepages
    above() { awk '/MemFree/ { print $4 - 9216 }' $node/meminfo; }
    mkdir full rest && mount -t hugetlbfs none full && mount -t tmpfs -o mpol=prefer:2 none rest ||
        exit 99
    trap 'umount full rest; echo 0 >$pool' EXIT
    echo $(( $(above) / 2048 )) >$pool
    free=$(awk '/HugePages_Free/ { print $2 }' /proc/meminfo)
    fallocate -l $(( free * 2097152 )) full/file || exit 98
    head -c $(( $(above) * 1024 )) /dev/zero >rest/file || exit 97
    numalab latency --json";

#[test]
fn a_full_node_is_not_measured_and_said_to_be_full() {
    let test = "a_full_node_is_not_measured_and_said_to_be_full";
    if !is_guest(test, "memory-only-node") {
        return;
    }
    let finished = Laboratory::new().script(FULL_NODE).with_code(0);
    let document = finished.document();
    let rows = document["ns"].as_array().unwrap();
    for row in rows {
        let is_number = [0, 1, 2].map(|column| row[column].is_number());
        assert_eq!(is_number, [true, true, false], "{document:#}");
    }
    let reasons = document["not_measured"].as_array().unwrap();
    assert_eq!(reasons.len(), rows.len(), "{document:#}");
    let is_full = |cell: &Value| {
        let reason = cell["reason"].as_str();
        reason.is_some_and(|it| it.starts_with("not enough memory on node 2"))
    };
    assert!(reasons.iter().all(is_full), "{reasons:#?}");
}

/// A CPU that is offline until this is dropped.
struct Offline(&'static str);

impl Offline {
    fn new(file: &'static str) -> Self {
        fs::write(file, "0").unwrap();
        Offline(file)
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        fs::write(self.0, "1").unwrap();
    }
}

/// CPU 2 measures for node 1.
#[test]
fn a_cpu_that_goes_offline_meanwhile_is_named() {
    let test = "a_cpu_that_goes_offline_meanwhile_is_named";
    if !is_guest(test, "memory-only-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let mut latency = laboratory.start(&["latency", "--nodes", "1", "--rounds", "1000"]);
    until("a trial of each case counts", || {
        assert!(!latency.has_ended(), "{}", latency.stderr());
        let shown = laboratory.run(&["show", "last", "--json"]);
        // There is no trial yet.
        let run = (shown.status.code() == Some(0)).then(|| shown.document())?;
        let cases = run["cases"].as_array().unwrap();
        let counts = |case: &Value| case["trials_valid"].as_u64() > Some(0);
        cases.iter().all(counts).then_some(())
    });
    let offline = Offline::new("/sys/devices/system/cpu/cpu2/online");
    latency.finish().with_code(0);
    drop(offline);
    let run = laboratory.document(&["show", "last", "--json"]);
    for case in run["cases"].as_array().unwrap() {
        let trials = case["trials"].as_array().unwrap().iter();
        let reasons: Vec<_> = trials.clone().map(|trial| &trial["reason"]).collect();
        let (valid, lost): (Vec<_>, Vec<_>) = trials.partition(|trial| trial["valid"] == true);
        assert!(!valid.is_empty() && !lost.is_empty(), "{reasons:#?}");
        for trial in valid {
            let used = &trial["evidence"]["measurements"][0]["cpus_used"];
            assert_eq!(used, "2", "{case:#}");
        }
        let names_it = |trial: &&Value| {
            let reason = trial["reason"].as_str().unwrap();
            reason.contains("CPU 2") || reason.contains("requested 2")
        };
        // Before, a busy machine may have disturbed others.
        assert!(lost.last().is_some_and(names_it), "{reasons:#?}");
    }
}
