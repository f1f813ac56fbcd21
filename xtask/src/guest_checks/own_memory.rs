//! Loads in memory of their own on two nodes: the pages of each session, and of its file in
//! /dev/shm, lie where they were asked for, as the kernel's own numa_maps says.

use anyhow::{Context, Result};
use serde_json::Value;

use super::answers::Answers;
use super::check::{Check, numalab, shell};
use super::complaints::Complaints;
use super::run_document::{case, valid_trials};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// Cases of both loads, with the node that all bytes must be on; none: half on each.
const CASES: [(&str, &str, Option<&str>); 3] = [
    ("near", "own-allocation = \"bind:0\"", Some("0")),
    ("far", "own-allocation = \"bind:1\"", Some("1")),
    ("spread", "own-allocation = \"interleave:0-1\"", None),
];
/// Bytes of each session.
const BYTES: u64 = 4 << 20;

/// The check.
pub const CHECK: Check = Check {
    name: "own-memory",
    applies_to: |shape| shape.name == "two-node",
    cgroup: CgroupVersion::V2,
    seconds: 120,
    commands: |_| {
        let mut commands = Vec::new();
        for (work, file) in [("memory-hammer", "hammer"), ("shm-fill", "fill")] {
            let path = format!("/tmp/{file}.toml");
            let text = definition(work);
            commands.push(shell(file, &format!("cat > {path} <<'END'\n{text}END")));
            let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.1"];
            commands.push(numalab(work, &words));
        }
        commands.push(shell("left in /dev/shm", "ls -A /dev/shm"));
        commands
    },
    judge,
};

fn definition(work: &str) -> String {
    let head = format!(
        "format = \"numalab.experiment/1\"\nname = \"mine\"\nquestion = \"Where?\"\n\
         baseline = \"near\"\nasks-about-memory = true\n[placement]\ncpus = \"first-node\"\n\
         [load]\nwork = \"{work}\"\nsessions = 1\nown-memory = \"4MiB\"\n"
    );
    let cases = CASES.map(|(name, keys, _)| {
        format!("[[case]]\nname = \"{name}\"\nabout = \"A case.\"\n{keys}\n")
    });
    head + &cases.concat()
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    for work in ["memory-hammer", "shm-fill"] {
        let run = answers.json(work)?;
        for (name, _, node) in CASES {
            for trial in valid_trials(case(&run, name)?, complaints) {
                let session = &trial["evidence"]["sessions"][0];
                for when in ["bytes_by_node_before", "bytes_by_node_after"] {
                    let found = bytes(&session["own_memory"][when])?;
                    let expected: Vec<(String, u64)> = match node {
                        Some(node) => vec![(node.to_owned(), BYTES)],
                        None => ["0", "1"].map(|id| (id.to_owned(), BYTES / 2)).to_vec(),
                    };
                    complaints.expect(&format!("{work}, {name}: {when}"), &found, &expected);
                }
            }
        }
    }
    let left = answers.text("left in /dev/shm")?;
    complaints.expect("left in /dev/shm", &left, &"");
    Ok(())
}

fn bytes(by_node: &Value) -> Result<Vec<(String, u64)>> {
    let by_node = by_node.as_object().context("bytes by node")?;
    let entry =
        |(node, bytes): (&String, &Value)| Ok((node.clone(), bytes.as_u64().context("bytes")?));
    by_node.iter().map(entry).collect()
}
