//! A PostgreSQL under pgbench on eight nodes has all of its memory on node 0. `numalab move`
//! interleaves it while it works, and `numalab undo` moves it back: no transaction fails.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, with_postgresql};
use super::section::section;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "move-postgres",
    applies_to: |shape| shape.name == "eight-node",
    cgroup: CgroupVersion::V2,
    seconds: 600,
    commands: |_| vec![with_postgresql(NAME, include_str!("move_postgres.sh"))],
    judge,
};

const NAME: &str = "moved under load";
/// The kind of the server's shared memory, as inspect names it.
const KIND: &str = "shared-anonymous";
/// Maximum relative deviation of a node's share from an even one, and maximum share of pages that
/// came after the move once the others are back.
const TOLERANCE: f64 = 0.01;

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let text = answers.text(NAME)?;
    let shares = |name| shares(section(text, name)?);
    complaints.expect("shares before", &shares("before")?, &[(0, 1.0)].into());
    let after = shares("after")?;
    let is_even = |share: &f64| (share * 8.0 - 1.0).abs() <= TOLERANCE;
    let all_even = after.len() == 8 && after.values().all(is_even);
    complaints.expect(&format!("even after the move: {after:?}"), &all_even, &true);
    let back = shares("back")?;
    let is_back = back.get(&0).is_some_and(|share| *share >= 1.0 - TOLERANCE);
    complaints.expect(&format!("on node 0 after undo: {back:?}"), &is_back, &true);

    let moved: Value = serde_json::from_str(section(text, "move")?)?;
    complaints.expect("status of the move", &moved["status"], &"complete".into());
    complaints.expect("refused", &moved["refused"], &Value::Array(Vec::new()));
    let load = section(text, "pgbench 0")?;
    let fails = !load.contains("number of failed transactions: 0 (0.000%)");
    complaints.expect(&format!("a transaction fails: {load}"), &fails, &false);
    complaints.expect("errors in the log", &section(text, "log")?, &"");
    let in_force = section(text, "in force")?;
    complaints.expect("in force", &in_force, &"no changes in force\n");
    Ok(())
}

/// Returns each node's share of the server's shared memory.
fn shares(document: &str) -> Result<BTreeMap<u64, f64>> {
    let document: Value = serde_json::from_str(document)?;
    let segments = document["segments"].as_array().context("segments")?;
    let mut of_kind = segments.iter().filter(|it| it["kind"] == KIND);
    let (Some(segment), None) = (of_kind.next(), of_kind.next()) else {
        bail!("expected one segment of kind {KIND}: {document}");
    };
    let by_node = segment["bytes_by_node"].as_object().context("nodes")?;
    let bytes = by_node.iter().map(|(node, bytes)| {
        let bytes = bytes.as_f64().context("bytes are a number")?;
        Ok((node.parse()?, bytes))
    });
    let bytes: BTreeMap<u64, f64> = bytes.collect::<Result<_>>()?;
    let all: f64 = bytes.values().sum();
    Ok(bytes
        .into_iter()
        .map(|(node, it)| (node, it / all))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_one_segment() {
        let text = "== a\n{\"segments\": [{\"kind\": \"shared-anonymous\", \"bytes_by_node\": \
                    {\"0\": 4096, \"3\": 12288}}, {\"kind\": \"sysv\"}]}\n== log\n";
        let shares = shares(section(text, "a").unwrap()).unwrap();
        assert_eq!(shares, [(0, 0.25), (3, 0.75)].into());
    }
}
