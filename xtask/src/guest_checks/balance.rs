//! `numalab balance` on a PostgreSQL whose shared buffers are far from all of its sessions: the
//! kernel moves what each session reads to its node, by the kernel's own count, and `numalab undo`
//! moves it back.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, with_postgresql};
use super::section::section;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "balance",
    applies_to: |shape| shape.name == "four-node-ring",
    cgroup: CgroupVersion::V2,
    seconds: 400,
    commands: |_| vec![with_postgresql(NAME, include_str!("balance.sh"))],
    judge,
};

const NAME: &str = "balanced under load";
const PAGE_BYTES: f64 = 4096.0;
/// The least share of a table that must be near to its reader: the other session and the server's
/// own processes use some blocks of it, too.
const NEAR_SHARE: f64 = 0.9;
/// The largest share of pages that were touched for the first time after the look before.
const NEW_SHARE: f64 = 0.01;

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let text = answers.text(NAME)?;
    let table_pages = section(text, "sizes")?.trim().parse::<f64>()? / 2.0 / PAGE_BYTES;
    let before = look(section(text, "before")?)?;
    let after = look(section(text, "after")?)?;
    let back = look(section(text, "back")?)?;
    for (node, session) in [(0, &after.sessions[0]), (1, &after.sessions[1])] {
        let is_near = session.pages_of(node) as f64 >= NEAR_SHARE * table_pages;
        let what = format!("{table_pages} pages of a table near to node {node}: {session:?}");
        complaints.expect(&what, &is_near, &true);
    }
    let moved = after.migrated - before.migrated;
    let is_counted = moved as f64 >= 2.0 * NEAR_SHARE * table_pages;
    complaints.expect(
        &format!("counted by the kernel: {moved}"),
        &is_counted,
        &true,
    );
    for (name, look) in [("before", &before), ("back", &back)] {
        for session in &look.sessions {
            let all: u64 = session.pages.values().sum();
            let others = all - session.pages_of(3);
            let is_there = others as f64 <= NEW_SHARE * all as f64;
            let what = format!("on node 3 {name}: {session:?}");
            complaints.expect(&what, &is_there, &true);
        }
    }
    let policies: Vec<&str> = [&before, &after, &back]
        .iter()
        .flat_map(|look| &look.sessions)
        .map(|session| session.policy.as_str())
        .collect();
    complaints.expect("policies", &policies, &vec!["default"; 6]);

    let document: Value = serde_json::from_str(section(text, "balance")?)?;
    let segments = document["segments"].as_array().context("segments")?;
    let elsewhere = segments
        .iter()
        .filter_map(|it| it["bytes_elsewhere"].as_f64());
    let elsewhere = elsewhere.sum::<f64>() / PAGE_BYTES;
    let is_told = elsewhere >= 2.0 * NEAR_SHARE * table_pages;
    complaints.expect(&format!("pages elsewhere: {elsewhere}"), &is_told, &true);
    complaints.expect("undo", &section(text, "undo")?.lines().count(), &1);
    complaints.expect("errors in the log", &section(text, "log")?, &"");
    let in_force = section(text, "in force")?;
    complaints.expect("in force", &in_force, &"no changes in force\n");
    Ok(())
}

/// What the kernel says.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    /// The segment, as the session on node 0 has it mapped, and the one on node 1.
    sessions: [Mapped; 2],
    /// Pages that NUMA balancing has moved since boot.
    migrated: u64,
}

/// A line of numa_maps.
#[derive(Debug, PartialEq, Eq)]
struct Mapped {
    policy: String,
    pages: BTreeMap<u64, u64>,
}

impl Mapped {
    fn of(line: &str) -> Result<Self> {
        let mut words = line.split(' ').skip(1);
        let policy = words.next().context("a policy")?.to_owned();
        let pages = words.filter_map(|word| {
            let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
            Some((node.parse().ok()?, pages.parse().ok()?))
        });
        let pages = pages.collect();
        Ok(Self { policy, pages })
    }

    fn pages_of(&self, node: u64) -> u64 {
        self.pages.get(&node).copied().unwrap_or(0)
    }
}

/// Reads a line of numa_maps of each session, and one of /proc/vmstat.
fn look(text: &str) -> Result<Look> {
    let lines: Vec<&str> = text.lines().collect();
    let [one, other, counter] = lines[..] else {
        bail!("expected two lines of numa_maps and a counter: {text}");
    };
    let migrated = counter.rsplit(' ').next().context("a counter")?;
    Ok(Look {
        sessions: [Mapped::of(one)?, Mapped::of(other)?],
        migrated: migrated.parse().context("a counter")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_read_and_not_numalab() {
        let line = "7f1 default file=/dev/zero\\040(deleted) dirty=9 mapmax=7 N0=4 N3=5";
        let text = format!("{line}\n{line} kernelpagesize_kB=4\nnuma_pages_migrated 17\n");
        let look = look(&text).unwrap();
        let [one, other] = &look.sessions;
        assert_eq!((one, look.migrated), (other, 17));
        assert_eq!(
            (one.pages_of(0), one.pages_of(3), one.pages_of(1)),
            (4, 5, 0)
        );
        assert_eq!(one.policy, "default");
    }

    #[test]
    fn a_session_that_has_ended_is_no_answer() {
        assert!(look("7f1 default N0=4\nnuma_pages_migrated 17\n").is_err());
    }
}
