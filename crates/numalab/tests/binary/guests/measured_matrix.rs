//! The matrix of `numalab latency` or `numalab bandwidth`: whole, measured where it was requested
//! by what numalab read back and by the kernel's own account, and marked as that of an emulated
//! machine.

use std::fs;

use model::{CpuSet, NodeId, NodeSet};
use serde_json::Value;

use super::kernel_account::Account;
use crate::laboratory::Laboratory;

/// Runs that only the kernel's account needs: on a busy host a guest has time for few looks.
const MORE_RUNS: usize = 12;

/// A measured matrix.
pub(crate) struct Matrix {
    /// The document of the command.
    pub document: Value,
    /// The stored run.
    pub run: Value,
}

impl Matrix {
    /// Measures these nodes, and asserts that the matrix is whole, with figures under this key, and
    /// that memory and CPUs of every pair were where they were requested.
    pub(crate) fn measured(
        laboratory: &Laboratory,
        words: &[&str],
        nodes: &NodeSet,
        figures: &str,
    ) -> Self {
        let [rows, columns] = ["has_cpu", "has_memory"].map(|kind| kernel_nodes(kind, nodes));
        let mut account = Account::of_this_machine();
        let document = account.look_at(laboratory.start(words)).document();
        is_whole(&document, figures, &rows, &columns);
        let run = laboratory.document(&["show", "last", "--json"]);
        every_trial_is_proven(&run);
        for _ in 0..MORE_RUNS {
            if !account.lacks_looks(&rows, &columns) {
                break;
            }
            account.look_at(laboratory.start(words));
        }
        account.agrees(&rows, &columns);
        Matrix { document, run }
    }
}

/// Returns those of the nodes that the kernel lists in this file of its folder of nodes.
pub(crate) fn kernel_nodes(file: &str, nodes: &NodeSet) -> NodeSet {
    let list = fs::read_to_string(format!("/sys/devices/system/node/{file}")).unwrap();
    list.trim().parse::<NodeSet>().unwrap().intersection(nodes)
}

/// Returns all nodes that are online.
pub(crate) fn online_nodes() -> NodeSet {
    let list = fs::read_to_string("/sys/devices/system/node/online").unwrap();
    list.trim().parse().unwrap()
}

/// Asserts that there is a row for each node with CPUs, a column for each with memory, and a figure
/// in every cell.
fn is_whole(document: &Value, figures: &str, rows: &NodeSet, columns: &NodeSet) {
    let ids = |nodes: &NodeSet| Value::from(nodes.iter().map(|it| it.0).collect::<Vec<_>>());
    assert_eq!(document["cpu_nodes"], ids(rows), "{document:#}");
    assert_eq!(document["memory_nodes"], ids(columns), "{document:#}");
    let cells = document[figures].as_array().unwrap().iter();
    let cells: Vec<_> = cells.flat_map(|row| row.as_array().unwrap()).collect();
    assert_eq!(cells.len(), rows.len() * columns.len(), "{document:#}");
    assert!(cells.iter().all(|cell| cell.is_number()), "{document:#}");
    assert_eq!(document["machine"]["emulated"], true);
}

/// Asserts that there are trials of every case and that they count, that their threads ran on the
/// requested CPUs, one each, and that their memory has the requested policy and is on its nodes.
fn every_trial_is_proven(run: &Value) {
    for case in run["cases"].as_array().unwrap() {
        let text = |key: &str| case["placement"][key].as_str().unwrap();
        let asked: CpuSet = text("cpus").parse().unwrap();
        let memory_nodes: NodeSet = text("memory_nodes").parse().unwrap();
        let trials = case["trials"].as_array().unwrap();
        assert!(!trials.is_empty(), "{case:#}");
        for trial in trials {
            assert_eq!(trial["valid"], true, "{case:#}");
            let mut used = Vec::new();
            for thread in trial["evidence"]["measurements"].as_array().unwrap() {
                let cpus: CpuSet = thread["cpus_used"].as_str().unwrap().parse().unwrap();
                used.extend(&cpus);
                is_within(&thread["memory_before"], &memory_nodes, case);
                is_within(&thread["memory_after"], &memory_nodes, case);
            }
            used.sort_unstable();
            assert_eq!(used, asked.as_slice(), "{case:#}");
        }
    }
}

/// Asserts that memory is on nodes of its policy, and that these are requested ones. Threads that
/// work together may have different nodes, or interleaved memory.
fn is_within(memory: &Value, requested: &NodeSet, case: &Value) {
    let nodes = memory["bytes_by_node"].as_object().unwrap().keys();
    let nodes: NodeSet = nodes.map(|id| NodeId(id.parse().unwrap())).collect();
    let (kind, of_policy) = memory["policy"].as_str().unwrap().split_once(':').unwrap();
    let of_policy: NodeSet = of_policy.parse().unwrap();
    let is_there = !nodes.is_empty()
        && nodes.is_subset(&of_policy)
        && of_policy.is_subset(requested)
        && (kind == "bind" || requested.len() > 1 && kind == "interleave");
    assert!(is_there, "{memory}, requested {requested}: {case:#}");
}
