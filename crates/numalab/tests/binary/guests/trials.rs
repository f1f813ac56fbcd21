//! Trials in a document `numalab.run/1`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::finished::Finished;
use crate::laboratory::Laboratory;

/// Runs an experiment with five short trials of each case, however long a busy host takes for them,
/// and again where all of a case were lost to the emulation.
#[track_caller]
pub(super) fn run(laboratory: &Laboratory, experiment: &str, seconds: &str) -> Value {
    let words = ["--json", "--trials", "5", "--seconds", seconds];
    let words = [&["run", experiment], &words[..]].concat();
    let run = || Finished::of(laboratory.command(&words).output().unwrap());
    let is_lost = |it: &Finished| {
        let is_invalid = it.status.code() == Some(6);
        is_invalid && it.stderr.contains(LOST_TO_EMULATION)
    };
    let mut finished = run();
    for _ in 1..RUNS_MAX {
        if !is_lost(&finished) {
            break;
        }
        finished = run();
    }
    finished.with_code(0).document()
}

/// How often an experiment is run at most.
const RUNS_MAX: usize = 3;

/// Returns the case with this name.
#[track_caller]
pub(super) fn case<'r>(run: &'r Value, name: &str) -> &'r Value {
    let mut cases = run["cases"].as_array().unwrap().iter();
    let case = cases.find(|case| case["name"] == name);
    case.unwrap_or_else(|| panic!("no case {name}: {run:#}"))
}

/// What a trial may be lost for in a guest: its emulated CPUs are slow to stop. Nothing of this is
/// about placement.
const LOST_TO_EMULATION: &str = "of CPU time while parked";

/// Returns the valid trials of a case, of which there is one at least. No other may be lost but to
/// the emulation.
#[track_caller]
pub(super) fn valid<'r>(run: &'r Value, name: &str) -> Vec<&'r Value> {
    let trials = case(run, name)["trials"].as_array().unwrap().iter();
    let (valid, lost): (Vec<_>, Vec<_>) = trials.partition(|trial| trial["valid"] == true);
    let reasons = lost.iter().map(|trial| trial["reason"].to_string());
    let reasons: Vec<_> = reasons.collect();
    let is_meant = reasons.iter().all(|it| it.contains(LOST_TO_EMULATION));
    let count = valid.len();
    assert!(
        count >= 5 || (is_meant && count >= 1),
        "{name} has {count} valid trials; lost: {reasons:?}"
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
