//! `numalab bandwidth` on every shape: the matrix of up to four nodes, sweeps over the number of
//! threads, and all CPUs at once. The memory and the CPUs of every pair are where they were
//! requested by the kernel's own account, and those of every thread by what numalab read back.

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, numalab};
use super::kernel_account::{self, DOCUMENT};
use super::latency::{ELSEWHERE, kernel_agrees, matrix_is_whole};
use super::numa_maps::ids;
use super::run_document::cases;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check on shapes that each add something to it.
pub(super) const CHECK: Check = Check {
    name: "bandwidth",
    applies_to: |shape| !is_elsewhere(shape),
    cgroup: CgroupVersion::V2,
    seconds: 600,
    commands,
    judge,
};

/// The check on the other shapes, which takes minutes.
pub(super) const CHECK_LONG: Check = Check {
    name: "bandwidth-elsewhere",
    applies_to: is_elsewhere,
    ..CHECK
};

/// Whether a shape adds nothing to the others, or takes minutes. Of the shapes with nodes without
/// CPUs or memory, each run of the test measures sparse and cpu-only-node.
fn is_elsewhere(shape: &Shape) -> bool {
    ELSEWHERE.contains(&shape.name) || shape.name == "memory-only-node"
}

/// Maximum number of nodes to measure: threads on many CPUs wait for one another, and a guest runs
/// them in turns.
const NODES: usize = 4;

fn measured_nodes(shape: &Shape) -> Vec<usize> {
    let mut nodes = shape.online_nodes();
    nodes.truncate(NODES);
    nodes
}

fn commands(shape: &Shape) -> Vec<GuestCommand> {
    let nodes = measured_nodes(shape).into_iter();
    let nodes: Vec<String> = nodes.map(|node| node.to_string()).collect();
    let nodes = nodes.join(",");
    let arguments = ["bandwidth", "--nodes", &nodes, "--kernel", "copy", "--json"];
    let mut commands = kernel_account::commands(&arguments).to_vec();
    commands.push(numalab("run", &["show", "last", "--json"]));
    commands
}

fn judge(shape: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let document = answers.json(DOCUMENT)?;
    kernel_agrees(&document, answers, complaints)?;
    let nodes = measured_nodes(shape);
    matrix_is_whole(&document, "bytes_per_s", &nodes, shape, complaints)?;
    let with_memory = nodes
        .iter()
        .filter(|node| shape.nodes[**node].memory_mib().is_some());
    let whole = if with_memory.count() > 1 { 3 } else { 0 };
    let count = |key: &str| document[key].as_array().map_or(0, Vec::len);
    complaints.expect("whole machine", &count("whole_machine"), &whole);
    let own = nodes.iter().filter(|node| {
        let node = shape.nodes[**node];
        node.is_socket() && node.memory_mib().is_some() && shape.cpus_per_socket() > 1
    });
    let sweeps = own.count() - usize::from(!shape.offline_cpus.is_empty());
    complaints.expect("sweeps of threads", &count("sweeps"), &sweeps);
    every_thread_is_proven(&answers.json("run")?, complaints)
}

/// Checks that every trial counts, that its threads ran on the requested CPUs, one each, and that
/// their memory is on the requested nodes.
fn every_thread_is_proven(run: &Value, complaints: &mut Complaints) -> Result<()> {
    for case in cases(run)? {
        let (name, placement) = (&case["name"], &case["placement"]);
        let asked = ids(placement["memory_nodes"].as_str().unwrap_or_default())?;
        let cpus = ids(placement["cpus"].as_str().unwrap_or_default())?;
        let trials = case["trials"].as_array().context("a case has trials")?;
        complaints.expect(&format!("trials of {name}"), &trials.len(), &1);
        for trial in trials {
            let (valid, reason) = (&trial["valid"], &trial["reason"]);
            let counts = format!("{name} counts ({reason})");
            complaints.expect(&counts, valid, &Value::from(true));
            let threads = trial["evidence"]["measurements"].as_array();
            let threads = threads.context("a trial has evidence")?;
            let mut used = Vec::new();
            for thread in threads {
                used.extend(ids(thread["cpus_used"].as_str().unwrap_or_default())?);
                for when in ["memory_before", "memory_after"] {
                    let by_node = thread[when]["bytes_by_node"].as_object();
                    let nodes = by_node.into_iter().flatten().map(|(id, _)| id.parse());
                    let nodes: Vec<u64> = nodes.collect::<Result<_, _>>()?;
                    let is_there = !nodes.is_empty() && nodes.iter().all(|it| asked.contains(it));
                    let what = format!("{when} of {name} on {nodes:?} of {asked:?}");
                    complaints.expect(&what, &is_there, &true);
                }
            }
            used.sort_unstable();
            complaints.expect(&format!("CPUs of {name}"), &used, &cpus);
        }
    }
    Ok(())
}
