//! `cargo xtask bench latency --repeat N`: whether the intervals of `numalab latency` include what
//! a plain chase then measures for the same memory from the same CPU; and how much runs differ.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::claims::Claims;
use super::latency::TOLERANCE;
use super::own_binary::OwnBinary;
use super::plain_chase::PlainChase;
use super::spread;
use super::spread::Spread;
use crate::guest::packages;

/// Minimum share of the intervals that must include the other program's figure. Of 95 % intervals,
/// a tenth rarely misses.
const SHARE_MIN: f64 = 0.9;

/// One cell of one run.
#[derive(Debug, PartialEq)]
struct Cell {
    name: String,
    cpu: u64,
    node: u64,
    bytes: u64,
    is_in_small_pages: bool,
    low: f64,
    median: f64,
    high: f64,
    rounds: Vec<f64>,
}

/// One turn of a cell: low end, median and high end of numalab's interval, and the figure of the
/// plain chase.
type Turn = ([f64; 3], f64);

/// Measures the matrix this many times, and every cell of it with the plain chase.
pub(super) fn run(repeats: u32, limit: Duration) -> Result<()> {
    let numalab = OwnBinary::build(limit)?;
    let plain = PlainChase::build(&numalab.folder)?;
    let mut turns: BTreeMap<String, Vec<Turn>> = BTreeMap::new();
    let mut rounds: BTreeMap<String, Vec<Vec<f64>>> = BTreeMap::new();
    for turn in 0..repeats {
        let document = numalab.json(&["latency", "--anyway", "--json"])?;
        let cells = cells(&document, &numalab.last_run()?)?;
        if cells.len() > 1 {
            packages::require_program("numactl", "numactl")?;
        }
        // With one node there is nothing to bind to.
        let is_bound = cells.len() > 1;
        for cell in cells {
            let place = (cell.cpu, is_bound.then_some(cell.node));
            let seed = turn as usize + 1;
            let (ns, huge_bytes) = plain.measure(&numalab.supervisor, place, cell.bytes, seed)?;
            ensure!(
                cell.is_in_small_pages != (huge_bytes >= cell.bytes),
                "{}: not alike: the plain chase had {huge_bytes} of {} bytes in huge pages",
                cell.name,
                cell.bytes
            );
            rounds
                .entry(cell.name.clone())
                .or_default()
                .push(cell.rounds);
            let interval = [cell.low, cell.median, cell.high];
            turns.entry(cell.name).or_default().push((interval, ns));
        }
    }
    let mut claims = Claims::default();
    if turns.is_empty() {
        claims.not_compared("plain chase", "the matrix has no cell");
    }
    for (name, turns) in &turns {
        judge(name, turns, &mut claims);
    }
    for (name, runs) in &rounds {
        if let Some(share) = spread::scatter(runs) {
            let percent = 100.0 * share;
            println!("{name}: beyond what rounds explain, runs scatter by {percent:.1} %");
        }
    }
    claims.conclude()
}

/// Returns the cells of a matrix, with the CPU, node and working set that the run states.
fn cells(document: &Value, run: &Value) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    let nodes = |key: &str| document[key].as_array().context("a matrix has nodes");
    for (row, from) in nodes("cpu_nodes")?.iter().enumerate() {
        for (column, to) in nodes("memory_nodes")?.iter().enumerate() {
            let name = format!("from-{from}-to-{to}");
            let figure = |key: &str| {
                let value = document[key][row][column].as_f64();
                value.with_context(|| format!("{name} has no {key}"))
            };
            let mut cases = run["cases"].as_array().into_iter().flatten();
            let case = cases.find(|case| case["name"] == name.as_str());
            let case = case.with_context(|| format!("the run has no case {name}"))?;
            let trials = case["trials"].as_array().into_iter().flatten();
            let valid = trials.filter(|trial| trial["valid"] == true);
            let trial = &case["trials"][0];
            let cpu = case["placement"]["cpus"].as_str();
            let kind = &trial["evidence"]["measurements"][0]["memory_after"]["page_kind"];
            cells.push(Cell {
                cpu: cpu
                    .and_then(|cpu| cpu.parse().ok())
                    .context("one CPU measures")?,
                node: to.as_u64().context("a node has an id")?,
                bytes: trial["kernel"]["working_set_bytes"]
                    .as_u64()
                    .context("a cell has a working set")?,
                is_in_small_pages: kind == "small",
                low: figure("ns_low")?,
                median: figure("ns")?,
                high: figure("ns_high")?,
                rounds: valid.filter_map(|trial| trial["value"].as_f64()).collect(),
                name,
            });
        }
    }
    Ok(cells)
}

/// Whether an interval includes a figure, within the tolerance by which the programs may differ.
fn holds([low, _, high]: [f64; 3], ns: f64) -> bool {
    low * (1.0 - TOLERANCE) <= ns && ns <= high * (1.0 + TOLERANCE)
}

fn judge(name: &str, turns: &[Turn], claims: &mut Claims) {
    for (interval, ns) in turns {
        let word = if holds(*interval, *ns) {
            "holds"
        } else {
            "misses"
        };
        let [low, median, high] = interval;
        println!("{name}: {median:.1} ns ({low:.1} to {high:.1}) {word} {ns:.1}");
    }
    let of = |value: fn(&Turn) -> f64| {
        let values: Vec<f64> = turns.iter().map(value).collect();
        Spread::of(&values).map_or_else(String::new, |spread| spread.to_string())
    };
    let holding = turns.iter().filter(|(interval, ns)| holds(*interval, *ns));
    let holding = holding.count();
    let found = format!(
        "{name}: {holding} of {} intervals hold the plain chase's figure of the same turn to 2 %; \
         medians {} ns, plain chase {} ns, widths {} ns",
        turns.len(),
        of(|(interval, _)| interval[1]),
        of(|(_, ns)| *ns),
        of(|(interval, _)| interval[2] - interval[0]),
    );
    let least = (turns.len() as f64 * SHARE_MIN).ceil() as usize;
    claims.add(&found, &format!("at least {least}"), holding >= least);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Cell, Claims, Turn, cells, judge};

    #[test]
    fn intervals_that_miss_the_figure_of_another_program_are_counted() {
        let check = |missed: usize, theirs: f64, is_met: bool| {
            let turn = |theirs| -> Turn { ([99.0, 100.0, 101.0], theirs) };
            let mut turns = vec![turn(100.5); 20 - missed];
            turns.extend(vec![turn(theirs); missed]);
            let mut claims = Claims::default();
            judge("x", &turns, &mut claims);
            assert_eq!(claims.conclude().is_ok(), is_met, "{missed} {theirs}");
        };
        check(0, 0.0, true);
        check(2, 110.0, true);
        check(3, 110.0, false);
        check(20, 102.9, true);
        // All of them agree with one another, and all are wrong.
        check(20, 130.0, false);
    }

    #[test]
    fn a_cell_says_where_it_was_measured() {
        let document = json!({"cpu_nodes": [0], "memory_nodes": [1], "ns": [[100.0]],
            "ns_low": [[99.0]], "ns_high": [[101.0]]});
        let trial = json!({"valid": true, "value": 100.5, "kernel": {"working_set_bytes": 4096},
            "evidence": {"measurements": [{"memory_after": {"page_kind": "transparent"}}]}});
        let case =
            |name: &str| json!({"name": name, "placement": {"cpus": "3"}, "trials": [trial]});
        let run = json!({"cases": [case("page-walks"), case("from-0-to-1")]});
        let expected = Cell {
            name: "from-0-to-1".to_owned(),
            cpu: 3,
            node: 1,
            bytes: 4096,
            is_in_small_pages: false,
            low: 99.0,
            median: 100.0,
            high: 101.0,
            rounds: vec![100.5],
        };
        assert_eq!(cells(&document, &run).unwrap(), [expected]);
        assert!(cells(&document, &json!({"cases": []})).is_err());
    }
}
