//! Reads `numalab.run/1` in a check.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::Complaints;

/// Returns the cases of a run.
pub(super) fn cases(run: &Value) -> Result<&Vec<Value>> {
    run["cases"].as_array().context("`cases` is not a list")
}

/// Returns the case with this name.
pub(super) fn case<'r>(run: &'r Value, name: &str) -> Result<&'r Value> {
    let found = cases(run)?.iter().find(|case| case["name"] == name);
    found.with_context(|| format!("the run has no case {name}"))
}

/// Returns the valid trials of a case; complains if there are fewer than five, with the reasons of
/// the others.
pub(super) fn valid_trials<'r>(case: &'r Value, complaints: &mut Complaints) -> Vec<&'r Value> {
    let trials = case["trials"].as_array().into_iter().flatten();
    let (valid, lost): (Vec<_>, Vec<_>) = trials.partition(|trial| trial["valid"] == true);
    if valid.len() < 5 {
        let reasons: Vec<_> = lost
            .iter()
            .map(|trial| trial["reason"].to_string())
            .collect();
        let (name, count) = (&case["name"], valid.len());
        complaints.add(format!(
            "case {name} has {count} valid trials; lost: {reasons:?}"
        ));
    }
    valid
}

/// Returns the bytes of a trial's SGA by node, before or after its window.
pub(super) fn sga_bytes(trial: &Value, when: &str) -> BTreeMap<u64, u64> {
    let by_node = trial["evidence"]["sga"][when].as_object();
    let entries = by_node.into_iter().flatten();
    let parsed = entries.filter_map(|(node, bytes)| Some((node.parse().ok()?, bytes.as_u64()?)));
    parsed.collect()
}
