//! `numalab bandwidth`: the matrix, sweeps over the number of threads, and all CPUs at once. The
//! memory and the CPUs of every pair and of every thread are where they were requested.
//!
//! Tests of kernels.

use std::fs;

use model::{CpuSet, NodeId, NodeSet};

use super::measured_matrix::{Matrix, kernel_nodes, online_nodes};
use crate::laboratory::Laboratory;
use crate::unmet_need::guest_shape;

/// Maximum number of nodes to measure: threads on many CPUs wait for one another, and a guest runs
/// them in turns.
const NODES: usize = 4;

#[test]
fn every_thread_works_where_it_was_requested() {
    if guest_shape("every_thread_works_where_it_was_requested").is_none() {
        return;
    }
    let nodes: NodeSet = online_nodes().iter().take(NODES).collect();
    let list = nodes.to_string();
    let words = ["bandwidth", "--nodes", &list, "--kernel", "copy", "--json"];
    let Matrix { document, run } =
        Matrix::measured(&Laboratory::new(), &words, &nodes, "bytes_per_s");
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(case["trials"].as_array().unwrap().len(), 1, "{case:#}");
    }
    let count = |key: &str| document[key].as_array().map_or(0, Vec::len);
    let with_memory = kernel_nodes("has_memory", &nodes);
    let whole_machine = if with_memory.len() > 1 { 3 } else { 0 };
    assert_eq!(count("whole_machine"), whole_machine, "{document:#}");
    let swept = with_memory.iter().filter(|node| cpus(*node) > 1);
    assert_eq!(count("sweeps"), swept.count(), "{document:#}");
}

/// Returns the number of CPUs of a node that are online.
fn cpus(node: NodeId) -> usize {
    let list = fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist"));
    list.unwrap().trim().parse::<CpuSet>().unwrap().len()
}
