//! `numalab run local-vs-remote` on article 000's eight nodes: both placements hold, the kernel
//! itself says how far apart they are, no winner is named, and nothing is left behind.

use anyhow::{Context, Result};

use super::answers::Answers;
use super::check::{Check, numalab, shell};
use super::complaints::Complaints;
use super::run_document::{case, sga_bytes, valid_trials};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub const CHECK: Check = Check {
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
            numalab("report", &["show", "last"]),
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
    for (name, distance) in [("local", 10), ("remote", 22)] {
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
                let enough = bytes.values().sum::<u64>() >= 256 << 20;
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
    for words in ["no winner is named", "22 (node 0 to node 4)"] {
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
        &"nothing is in force\n",
    );
    Ok(())
}
