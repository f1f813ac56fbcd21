//! Trials in a document `numalab.run/1`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::finished::Finished;
use crate::laboratory::Laboratory;

/// Runs an experiment with five short trials of each case, however long a busy host takes for them.
#[track_caller]
pub(super) fn run(laboratory: &Laboratory, experiment: &str, seconds: &str) -> Value {
    let words = ["--json", "--trials", "5", "--seconds", seconds];
    let mut command = laboratory.command(&[&["run", experiment], &words[..]].concat());
    let finished = Finished::of(command.output().unwrap());
    finished.with_code(0).document()
}

/// Returns the case with this name.
#[track_caller]
pub(super) fn case<'r>(run: &'r Value, name: &str) -> &'r Value {
    let mut cases = run["cases"].as_array().unwrap().iter();
    let case = cases.find(|case| case["name"] == name);
    case.unwrap_or_else(|| panic!("no case {name}: {run:#}"))
}

/// Returns the valid trials of a case, which are at least five.
#[track_caller]
pub(super) fn valid<'r>(run: &'r Value, name: &str) -> Vec<&'r Value> {
    let trials = case(run, name)["trials"].as_array().unwrap().iter();
    let (valid, lost): (Vec<_>, Vec<_>) = trials.partition(|trial| trial["valid"] == true);
    let reasons = || lost.iter().map(|trial| trial["reason"].to_string());
    assert!(
        valid.len() >= 5,
        "{name} has {} valid trials; lost: {:?}",
        valid.len(),
        reasons().collect::<Vec<_>>()
    );
    valid
}

/// Returns bytes by node.
#[track_caller]
pub(super) fn bytes(by_node: &Value) -> BTreeMap<u64, u64> {
    let entries = by_node.as_object().unwrap().iter();
    let entry = |(node, bytes): (&String, &Value)| (node.parse().unwrap(), bytes.as_u64().unwrap());
    entries.map(entry).collect()
}
