//! `numalab latency` on every shape: the whole matrix is measured, nodes without CPUs are only
//! columns and nodes without memory only rows; the memory and the CPUs of every pair are where they
//! were requested (by the kernel's own account, and by what numalab read back); and the result says
//! that its machine is emulated. Errors name what a cpuset or an affinity forbids.

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, numalab, shell};
use super::kernel_account::{self, ACCOUNT, Account, DOCUMENT};
use super::run_document::cases;
use crate::arguments::CgroupVersion;
use crate::guest::{Node, Shape};

/// Shapes whose memory is measured only in long checks: for latency and bandwidth they differ from
/// the others only by fewer nodes, more nodes or more memory.
pub(super) const ELSEWHERE: [&str; 5] = [
    "one-node",
    "four-node-ring",
    "eight-node",
    "thirty-two-node",
    "large-memory",
];

/// The check on shapes that each add something to it.
pub(super) const CHECK: Check = Check {
    name: "latency",
    applies_to: |shape| !ELSEWHERE.contains(&shape.name),
    cgroup: CgroupVersion::V2,
    seconds: 900,
    commands,
    judge,
};

/// The check on the other shapes, which takes minutes.
pub(super) const CHECK_LONG: Check = Check {
    name: "latency-elsewhere",
    applies_to: |shape| ELSEWHERE.contains(&shape.name),
    ..CHECK
};

/// Runs numalab in a cgroup that has only the memory of node 0.
const FORBIDDEN_MEMORY: &str = "
    cd /sys/fs/cgroup && echo +cpuset >cgroup.subtree_control && mkdir only-node-0 &&
    echo 0 >only-node-0/cpuset.mems || exit 99
    sh -c 'echo $$ >only-node-0/cgroup.procs && exec numalab latency'; status=$?
    rmdir only-node-0; exit $status";

/// Whether curves and transfers are measured on this shape, too.
fn has_everything(shape: &Shape) -> bool {
    shape.name == "memory-only-node"
}

fn commands(shape: &Shape) -> Vec<GuestCommand> {
    // Windows on an emulated machine are short: with more rounds, each pair is seen.
    let measured: &[&str] = match shape.nodes.len() {
        ..=4 => &["latency", "--json", "--rounds", "20"],
        _ => &["latency", "--json"],
    };
    let mut commands = kernel_account::commands(measured).to_vec();
    commands.push(numalab("run", &["show", "last", "--json"]));
    if shape.online_nodes().len() > 1 {
        commands.push(shell("one-cpu", "taskset -c 0 numalab latency"));
    }
    if has_everything(shape) {
        let everything = ["latency", "--curve=all", "--cores", "--json"];
        commands.extend([
            shell("cpuset", FORBIDDEN_MEMORY),
            numalab("everything", &everything),
        ]);
    }
    commands
}

fn judge(shape: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let document = answers.json(DOCUMENT)?;
    matrix_is_whole(&document, "ns", &shape.online_nodes(), shape, complaints)?;
    kernel_agrees(&document, answers, complaints)?;
    let classes = &document["hop_classes"];
    complaints.expect("hop classes", classes, &Value::Array(Vec::new()));
    every_cell_is_proven(&answers.json("run")?, complaints)?;
    if shape.online_nodes().len() > 1 {
        let refused = answers.outcome("one-cpu")?;
        complaints.expect("exit code of a forbidden node", &refused.status, &4);
        let said = String::from_utf8_lossy(&refused.stderr);
        let names = said.contains("the CPUs of node") && said.contains("--nodes");
        complaints.expect(&format!("what is said of it: {said}"), &names, &true);
    }
    if has_everything(shape) {
        let refused = answers.outcome("cpuset")?;
        complaints.expect("exit code of forbidden memory", &refused.status, &4);
        let said = String::from_utf8_lossy(&refused.stderr);
        let names = said.contains("memory of nodes 1-2");
        complaints.expect(&format!("what is said of it: {said}"), &names, &true);
        everything(shape, answers, complaints)?;
    }
    Ok(())
}

/// Checks that a matrix has a row for each of these nodes that has CPUs, a column for each that has
/// memory, and a figure in every cell, and that the document says that its machine is emulated.
pub(super) fn matrix_is_whole(
    document: &Value,
    figures: &str,
    measured: &[usize],
    shape: &Shape,
    complaints: &mut Complaints,
) -> Result<()> {
    let nodes = |wanted: fn(Node) -> bool| {
        let ids = measured.iter().copied();
        let ids = ids.filter(|id| wanted(shape.nodes[*id]));
        Value::from(ids.collect::<Vec<usize>>())
    };
    let rows = nodes(Node::is_socket);
    let columns = nodes(|node| node.memory_mib().is_some());
    complaints.expect("rows", &document["cpu_nodes"], &rows);
    complaints.expect("columns", &document["memory_nodes"], &columns);
    let cells = document[figures].as_array().context("no matrix")?;
    let cells: Vec<&Value> = cells
        .iter()
        .flat_map(|row| row.as_array())
        .flatten()
        .collect();
    let count = rows.as_array().map_or(0, Vec::len) * columns.as_array().map_or(0, Vec::len);
    complaints.expect("cells", &cells.len(), &count);
    let measured = cells.iter().filter(|cell| cell.is_number()).count();
    let why = &document["not_measured"];
    complaints.expect(&format!("cells measured ({why})"), &measured, &count);
    complaints.expect(
        "emulated",
        &document["machine"]["emulated"],
        &Value::from(true),
    );
    Ok(())
}

/// Checks that the kernel had every pair of the matrix together, and no memory elsewhere.
pub(super) fn kernel_agrees(
    document: &Value,
    answers: &Answers,
    complaints: &mut Complaints,
) -> Result<()> {
    let nodes = |key: &str| -> Vec<u64> {
        let nodes = document[key].as_array().into_iter().flatten();
        nodes.filter_map(Value::as_u64).collect()
    };
    let account = Account::parse(answers.text(ACCOUNT)?)?;
    account.judge(&nodes("cpu_nodes"), &nodes("memory_nodes"), complaints);
    Ok(())
}

/// Checks that every trial counts, and that its evidence is what was requested.
fn every_cell_is_proven(run: &Value, complaints: &mut Complaints) -> Result<()> {
    for case in cases(run)? {
        let (name, placement) = (&case["name"], &case["placement"]);
        let node = placement["memory_nodes"].as_str().unwrap_or_default();
        let trials = case["trials"].as_array().context("a case has trials")?;
        complaints.expect(&format!("trials of {name}"), &trials.is_empty(), &false);
        for trial in trials {
            let reason = &trial["reason"];
            complaints.expect(
                &format!("{name} counts ({reason})"),
                &trial["valid"],
                &Value::from(true),
            );
            let evidence = &trial["evidence"]["measurements"][0];
            complaints.expect(
                &format!("CPUs of {name}"),
                &evidence["cpus_used"],
                &placement["cpus"],
            );
            for when in ["memory_before", "memory_after"] {
                let memory = &evidence[when];
                let by_node = memory["bytes_by_node"].as_object();
                let nodes: Vec<&str> = by_node.into_iter().flatten().map(|(id, _)| &**id).collect();
                complaints.expect(&format!("{when} of {name}"), &nodes, &vec![node]);
                let policy = Value::from(format!("bind:{node}"));
                complaints.expect(&format!("policy of {name}"), &memory["policy"], &policy);
            }
        }
    }
    Ok(())
}

/// Checks that there are curves of all pairs, and transfers with every home node.
fn everything(shape: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let document = answers.json("everything")?;
    let count = |value: &Value| value.as_array().map_or(0, Vec::len);
    let rows = shape.nodes.iter().filter(|node| node.is_socket()).count();
    complaints.expect(
        "curves",
        &count(&document["curves"]),
        &(rows * shape.nodes.len()),
    );
    complaints.expect("homes", &count(&document["transfers"]), &shape.nodes.len());
    Ok(())
}
