//! `numalab run local-vs-remote` on article 000's eight nodes: while both placements are held up,
//! the kernel itself says where their memory and CPUs are, and how far apart; what numalab read
//! back in every trial agrees; there is no winner, and nothing is left behind.

use anyhow::{Context, Result};

use super::check::{Answers, Check, Complaints, numalab, shell};
use super::held::{self, Held};
use super::numa_maps::{Line, ids};
use super::run_document::{case, sga_bytes, valid_trials};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The cases, and the kernel's distance from node 0 to their memory.
const CASES: [(&str, u64); 2] = [("local", 10), ("remote", 22)];
/// Minimum size of the SGA: that of a readers' table beyond the caches on any machine
/// (docs/instance.md).
const SGA_BYTES_MIN: u64 = 64 << 20;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "local-vs-remote",
    applies_to: |shape| shape.name == "eight-node",
    cgroup: CgroupVersion::V2,
    seconds: 240,
    commands: |_| {
        vec![
            shell(
                "controllers before",
                "cat /sys/fs/cgroup/cgroup.subtree_control",
            ),
            shell(
                "distances of node 0",
                "cat /sys/devices/system/node/node0/distance",
            ),
            numalab(
                "run",
                &[
                    "run",
                    "local-vs-remote",
                    "--json",
                    "--trials",
                    "5",
                    "--seconds",
                    "0.5",
                ],
            ),
            numalab("report", &["show", "last", "--full"]),
            shell(
                "CPUs of node 0",
                "cat /sys/devices/system/node/node0/cpulist",
            ),
            shell(
                "held",
                &held::script("local-vs-remote", &CASES.map(|(name, _)| name.to_owned())),
            ),
            shell(
                "groups after",
                "ls -d /sys/fs/cgroup/numalab* 2>/dev/null; true",
            ),
            shell(
                "controllers after",
                "cat /sys/fs/cgroup/cgroup.subtree_control",
            ),
            shell("segments after", "tail -n +2 /proc/sysvipc/shm"),
            numalab("in force", &["undo", "--list"]),
        ]
    },
    judge,
};

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let row = answers.text("distances of node 0")?;
    let distances: Vec<u64> = row
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .context(row.to_owned())?;
    let run = answers.json("run")?;
    complaints.expect("emulated", &run["machine"]["emulated"], &true.into());
    let cpus = ids(answers.text("CPUs of node 0")?.trim())?;
    let held = held::parse(answers.text("held")?)?;
    complaints.expect("cases held", &held.len(), &CASES.len());
    for (held, (_, distance)) in held.iter().zip(CASES) {
        kernel_agrees(held, &distances, distance, &cpus, complaints);
    }
    for (name, distance) in CASES {
        for trial in valid_trials(case(&run, name)?, complaints) {
            for when in ["bytes_by_node_before", "bytes_by_node_after"] {
                let bytes = sga_bytes(trial, when);
                let nodes: Vec<u64> = bytes.keys().copied().collect();
                let found: Vec<_> = nodes
                    .iter()
                    .map(|node| distances.get(*node as usize).copied())
                    .collect();
                let what = format!("{name}: kernel's distances from node 0 to the SGA's {nodes:?}");
                complaints.expect(&what, &found, &vec![Some(distance)]);
                let enough = bytes.values().sum::<u64>() >= SGA_BYTES_MIN;
                complaints.expect(&format!("{name}: all of the SGA is found"), &enough, &true);
            }
            let sessions = trial["evidence"]["sessions"].as_array();
            let sessions = sessions.context("a trial has sessions")?;
            let on_node_0 = sessions.iter().all(|session| {
                let used = session["cpus_used"].as_str().unwrap_or("");
                used == "0" || used == "1" || used == "0-1"
            });
            complaints.expect(
                &format!("{name}: only node 0's CPUs worked"),
                &on_node_0,
                &true,
            );
        }
        let rank = &case(&run, name)?["rank"];
        complaints.expect(&format!("{name}: rank"), &rank.is_null(), &true);
    }
    let verdict = &run["comparisons"][0]["verdict"];
    complaints.expect("verdict of the comparison", verdict, &"emulated".into());
    let report = answers.text("report")?;
    for words in ["no winner: ", "22 (node 0 to node 4)"] {
        complaints.expect(
            &format!("the report says {words:?}"),
            &report.contains(words),
            &true,
        );
    }
    complaints.expect("groups left", &answers.text("groups after")?, &"");
    complaints.expect("segments left", &answers.text("segments after")?, &"");
    let controllers = (
        answers.text("controllers before")?,
        answers.text("controllers after")?,
    );
    complaints.expect("controllers enabled", &controllers.1, &controllers.0);
    complaints.expect(
        "in force",
        &answers.text("in force")?,
        &"no changes in force\n",
    );
    Ok(())
}

/// Checks what the kernel says: every page of the SGA lies at this distance from node 0, and the
/// sessions may use some CPUs of node 0 and no others.
fn kernel_agrees(
    held: &Held,
    distances: &[u64],
    distance: u64,
    cpus: &[u64],
    complaints: &mut Complaints,
) {
    let name = &held.name;
    let sga = held.sga();
    let bytes: u64 = sga.iter().map(Line::bytes).sum();
    let enough = bytes >= SGA_BYTES_MIN;
    complaints.expect(
        &format!("{name}: the kernel has {bytes} bytes of SGA"),
        &enough,
        &true,
    );
    for node in sga.iter().flat_map(Line::nodes) {
        let what = format!("{name}: the kernel's distance to node {node}, which has pages");
        complaints.expect(&what, &distances.get(node as usize), &Some(&distance));
    }
    complaints.expect(
        &format!("{name}: some sessions"),
        &held.sessions().is_empty(),
        &false,
    );
    for session in held.sessions() {
        let allowed = &session.cpus;
        let is_local = !allowed.is_empty() && allowed.iter().all(|cpu| cpus.contains(cpu));
        let what = format!("{name}: CPUs {allowed:?} of a session are of node 0, {cpus:?}");
        complaints.expect(&what, &is_local, &true);
    }
}
