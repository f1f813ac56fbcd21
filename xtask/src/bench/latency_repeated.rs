//! `cargo xtask bench latency --repeat N`: how often the interval of a run of `numalab latency`
//! covers the median of all runs together.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::claims::Claims;
use super::own_binary::OwnBinary;
use super::spread::Spread;

/// The share of the intervals that must cover: nine of ten. Of intervals of 95 %, a tenth misses
/// only now and then.
const SHARE_MIN: f64 = 0.9;

/// What the runs said of one cell.
#[derive(Debug, Default, PartialEq)]
struct CellOfRuns {
    /// Low, median and high end of each run.
    intervals: Vec<(f64, f64, f64)>,
    /// Every round of every run.
    rounds: Vec<f64>,
}

/// Measures the matrix so many times and asks of every cell.
pub fn run(repeats: u32) -> Result<()> {
    let numalab = OwnBinary::build()?;
    let mut cells: BTreeMap<String, CellOfRuns> = BTreeMap::new();
    for _ in 0..repeats {
        let document = numalab.json(&["latency", "--anyway", "--json"])?;
        add(&mut cells, &document, &numalab.last_run()?)?;
    }
    let mut claims = Claims::default();
    for (name, cell) in &cells {
        judge(name, cell, &mut claims);
    }
    claims.conclude()
}

fn add(cells: &mut BTreeMap<String, CellOfRuns>, document: &Value, run: &Value) -> Result<()> {
    let nodes = |key: &str| document[key].as_array().context("a matrix has nodes");
    for (row, from) in nodes("cpu_nodes")?.iter().enumerate() {
        for (column, to) in nodes("memory_nodes")?.iter().enumerate() {
            let name = format!("from-{from}-to-{to}");
            let [low, median, high] = ["ns_low", "ns", "ns_high"].map(|key| {
                let value = document[key][row][column].as_f64();
                value.with_context(|| format!("{name} has no {key}"))
            });
            let cell = cells.entry(name.clone()).or_default();
            cell.intervals.push((low?, median?, high?));
            let cases = run["cases"].as_array().into_iter().flatten();
            let case = cases.filter(|case| case["name"] == name.as_str());
            let trials = case.flat_map(|case| case["trials"].as_array().into_iter().flatten());
            let valid = trials.filter(|trial| trial["valid"] == true);
            cell.rounds
                .extend(valid.filter_map(|trial| trial["value"].as_f64()));
        }
    }
    Ok(())
}

fn judge(name: &str, cell: &CellOfRuns, claims: &mut Claims) {
    let Some(all) = Spread::of(&cell.rounds) else {
        return claims.add(name, "has rounds", false);
    };
    for (low, median, high) in &cell.intervals {
        let covers = *low <= all.median && all.median <= *high;
        let word = if covers { "covers" } else { "misses" };
        println!(
            "{name}: {median:.1} ns ({low:.1} to {high:.1}) {word} {:.1}",
            all.median
        );
    }
    let covering = covering(cell, all.median);
    let found = format!(
        "{name}: {covering} of {} intervals cover the median of all {} rounds, {all} ns",
        cell.intervals.len(),
        cell.rounds.len()
    );
    let least = (cell.intervals.len() as f64 * SHARE_MIN).ceil() as usize;
    claims.add(&found, &format!("at least {least}"), covering >= least);
}

fn covering(cell: &CellOfRuns, median: f64) -> usize {
    let covers = |(low, _, high): &&(f64, f64, f64)| *low <= median && median <= *high;
    cell.intervals.iter().filter(covers).count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::{Claims, add, judge};

    #[test]
    fn intervals_that_miss_the_median_of_all_rounds_are_counted() {
        let document = |median: f64| {
            json!({"cpu_nodes": [0], "memory_nodes": [1], "ns": [[median]],
                "ns_low": [[median - 1.0]], "ns_high": [[median + 1.0]]})
        };
        let run = |value: f64| {
            json!({"cases": [
                {"name": "from-0-to-1", "trials": [
                    {"valid": true, "value": value}, {"valid": false, "value": 900.0}]},
                {"name": "page-walks", "trials": [{"valid": true, "value": 500.0}]},
            ]})
        };
        let check = |far: f64, is_met: bool| {
            let mut cells = BTreeMap::new();
            for value in [100.0, 100.0, 100.0, far] {
                add(&mut cells, &document(value), &run(value)).unwrap();
            }
            assert_eq!(cells["from-0-to-1"].rounds.len(), 4);
            let mut claims = Claims::default();
            judge("x", &cells["from-0-to-1"], &mut claims);
            assert_eq!(claims.conclude().is_ok(), is_met, "{far}");
        };
        check(100.5, true);
        check(110.0, false);
    }
}
