//! `numalab inspect` of a PostgreSQL with 256 MiB of shared buffers on article 000's eight nodes,
//! bound, interleaved and without policy: what it finds agrees with Shmem of each node, to the
//! page, with five processes and with fifty, and the inspection allocates no memory.

use anyhow::{Context, Result};

use super::check::{Answers, Check, Complaints, GuestCommand, with_postgresql};
use super::inspect_instances::ALL;
use super::look::{FUNCTIONS, Look};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "inspect-postgres",
    applies_to: |shape| shape.name == "eight-node",
    cgroup: CgroupVersion::V2,
    seconds: 900,
    commands,
    judge,
};

/// Runs the server under one placement; the first run creates the cluster.
const SCRIPT: &str = include_str!("inspect_postgres.sh");

/// Placements: the name, the options of numactl, and the nodes where the buffers must be; none if
/// the server chooses.
const ROWS: &[(&str, &str, &[u64])] = &[
    ("postgres-bound", "--membind=3", &[3]),
    ("postgres-interleaved", "--interleave=all", ALL),
    ("postgres-without-policy", "--all", &[]),
];

/// Size of the buffers in bytes.
const BUFFERS: u64 = 256 << 20;

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let rows = ROWS.iter().map(|(name, numactl, _)| {
        let script = format!("{FUNCTIONS}\nNUMACTL='{numactl}'\n{SCRIPT}");
        with_postgresql(name, &script)
    });
    rows.collect()
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    for (command, _, nodes) in ROWS {
        let answer = answers.json(command)?;
        for (name, processes) in [("untouched", 5), ("filled", 5), ("fifty", 50)] {
            let look = Look::new(command, name, &answer);
            look.judge(&answer["before"], 0, complaints)?;
            look.judge_processes(processes, complaints);
            if name != "untouched" {
                judge_nodes(nodes, &look, complaints)?;
            }
        }
    }
    Ok(())
}

/// Checks that all buffers exist and are on these nodes, evenly if there are several.
fn judge_nodes(nodes: &[u64], look: &Look, complaints: &mut Complaints) -> Result<()> {
    let found = look.shared_memory()?;
    let total: u64 = found.values().sum();
    complaints.expect(&look.what("buffers"), &(total >= BUFFERS), &true);
    let share = total.checked_div(nodes.len() as u64).unwrap_or(0);
    for node in nodes {
        let bytes = found
            .get(node)
            .copied()
            .context("a node of the placement")?;
        let sentence = format!("{bytes} bytes on node {node}, {share} expected");
        let is_near = bytes.abs_diff(share) <= share / 50;
        complaints.expect(&look.what(&sentence), &is_near, &true);
    }
    Ok(())
}
