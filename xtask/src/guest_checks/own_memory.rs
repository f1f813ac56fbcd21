//! Loads in their own memory on two nodes: the pages of each session, and of its file in /dev/shm,
//! lie where they were requested, according to the kernel's own numa_maps while the case is held
//! up, and to what numalab reads back in every trial.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, numalab, shell};
use super::held::{self, Held};
use super::run_document::{case, valid_trials};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// Cases of both loads, with their policy, which the file and the kernel name alike, and the nodes
/// that the bytes must be on, evenly.
const CASES: [(&str, &str, &[u64]); 3] = [
    ("near", "bind:0", &[0]),
    ("far", "bind:1", &[1]),
    ("spread", "interleave:0-1", &[0, 1]),
];
/// The CPUs of the first node of the shape.
const CPUS_OF_NODE_0: [u64; 2] = [0, 1];
/// Bytes of each session.
const BYTES: u64 = 4 << 20;

/// The check.
pub(super) const CHECK: Check = Check {
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
            let names = CASES.map(|(name, ..)| name.to_owned());
            commands.push(shell(held_name(work), &held::script(&path, &names)));
        }
        commands.push(shell("left in /dev/shm", "ls -A /dev/shm"));
        commands
    },
    judge,
};

fn held_name(work: &str) -> &'static str {
    match work {
        "shm-fill" => "shm-fill held",
        _ => "memory-hammer held",
    }
}

fn definition(work: &str) -> String {
    let head = format!(
        "format = \"numalab.experiment/1\"\nname = \"mine\"\nquestion = \"Where?\"\n\
         baseline = \"near\"\nasks-about-memory = true\n[placement]\ncpus = \"first-node\"\n\
         [load]\nwork = \"{work}\"\nsessions = 1\nown-memory = \"4MiB\"\n"
    );
    let cases = CASES.map(|(name, policy, _)| {
        format!("[[case]]\nname = \"{name}\"\nabout = \"A case.\"\nown-allocation = \"{policy}\"\n")
    });
    head + &cases.concat()
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    for work in ["memory-hammer", "shm-fill"] {
        let run = answers.json(work)?;
        let held = held::parse(answers.text(held_name(work))?)?;
        complaints.expect("cases held", &held.len(), &CASES.len());
        for (held, (name, policy, nodes)) in held.iter().zip(CASES) {
            kernel_agrees(&format!("{work}, {name}"), held, policy, nodes, complaints);
            for trial in valid_trials(case(&run, name)?, complaints) {
                let session = &trial["evidence"]["sessions"][0];
                for when in ["bytes_by_node_before", "bytes_by_node_after"] {
                    let found = bytes(&session["own_memory"][when])?;
                    let each = |node: &u64| (node.to_string(), BYTES / nodes.len() as u64);
                    let expected: Vec<_> = nodes.iter().map(each).collect();
                    complaints.expect(&format!("{work}, {name}: {when}"), &found, &expected);
                }
            }
        }
    }
    let left = answers.text("left in /dev/shm")?;
    complaints.expect("left in /dev/shm", &left, &"");
    Ok(())
}

/// Checks what the kernel says about the session: all of its own memory has the policy and is on
/// the nodes, and it may use only the CPUs of node 0.
fn kernel_agrees(
    what: &str,
    held: &Held,
    policy: &str,
    nodes: &[u64],
    complaints: &mut Complaints,
) {
    complaints.expect(&format!("{what}: sessions"), &held.sessions().len(), &1);
    for session in held.sessions() {
        let mut pages = BTreeMap::new();
        let own = session.maps.iter().filter(|line| line.policy == policy);
        for (node, count) in own.flat_map(|line| &line.pages) {
            *pages.entry(*node).or_insert(0) += count;
        }
        let each = BYTES / 4096 / nodes.len() as u64;
        let expected = nodes.iter().map(|node| (*node, each)).collect();
        complaints.expect(&format!("{what}: the kernel's pages"), &pages, &expected);
        let cpus: &[u64] = &session.cpus;
        complaints.expect(
            &format!("{what}: CPUs allowed"),
            &cpus,
            &&CPUS_OF_NODE_0[..],
        );
    }
}

fn bytes(by_node: &Value) -> Result<Vec<(String, u64)>> {
    let by_node = by_node.as_object().context("bytes by node")?;
    let entry =
        |(node, bytes): (&String, &Value)| Ok((node.clone(), bytes.as_u64().context("bytes")?));
    by_node.iter().map(entry).collect()
}
