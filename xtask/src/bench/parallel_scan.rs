//! `cargo xtask bench parallel-scan`: the parallel scan with the read bandwidth that `numalab
//! bandwidth` measures just before and just after it, and with `SELECT sum()` of DuckDB (PyPI
//! package duckdb) over as many values in memory, in turns.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::harness::{Harness, case, number};
use super::huge_pages::HugePages;
use super::turns::Turns;
use crate::{program, repository};

/// The experiment, in the format that users write.
const EXPERIMENT: &str = include_str!("parallel_scan.toml");
/// Sums the same number of values again and again, and prints the bytes per second of the median.
const DUCKDB: &str = include_str!("parallel_scan_duckdb.py");
/// Values of the column: 1 GiB of blocks of 1020 values.
const VALUES: &str = "133693440";
const TURNS: usize = 5;
/// Pages of 2 MiB for the column and its overhead.
const PAGES: u64 = 600;

/// The case that is compared with the bandwidth: both in huge pages.
const HUGE: &str = "huge";
/// The case that is compared with DuckDB: both in pages of 4 KiB, unless the kernel gives others.
const SMALL: &str = "all-cpus";
const BANDWIDTH: &str = "the read bandwidth";
const PEER: &str = "DuckDB";

pub(super) fn run(harness: &mut Harness) -> Result<()> {
    // Where these pages cannot be had, the run skips the case that needs them.
    let pages = HugePages::require(harness, PAGES);
    let mut no_huge = pages.as_ref().err().map(|error| format!("{error:#}"));
    let packages = harness.folder.join("duckdb").display().to_string();
    let install = "-m pip install --quiet --upgrade duckdb --target".split(' ');
    let install: Vec<&str> = install.chain([packages.as_str()]).collect();
    let peer = program::output("python3", &install, &repository::root());
    let mut duckdb = Command::new("python3");
    duckdb.args(["-c", DUCKDB, VALUES]);
    duckdb.env("PYTHONPATH", &packages);
    let mut turns = Turns::default();
    let mut before = bandwidth(harness)?;
    for _ in 0..TURNS {
        let run = harness.experiment(EXPERIMENT, &["--trials", "5", "--seconds", "1"])?;
        let after = bandwidth(harness)?;
        turns.note(BANDWIDTH, f64::midpoint(before, after));
        before = after;
        for name in ["one", SMALL, HUGE] {
            match case(&run, name) {
                Ok(case) => turns.note(name, number(case, "/median")?),
                Err(error) if name == HUGE => {
                    no_huge.get_or_insert_with(|| error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        if peer.is_ok() {
            turns.note(PEER, harness.text(&duckdb)?.trim().parse()?);
        }
    }
    turns.print("bytes of values per second", 1e9, "GB/s")?;
    let claims = &mut harness.claims;
    match no_huge.filter(|_| turns.figures(HUGE).len() < TURNS) {
        None => {
            let share = turns.ratio(HUGE, BANDWIDTH)?;
            claims.at_least(HUGE, share, 0.9, "of the read bandwidth");
        }
        Some(why) => claims.not_compared(HUGE, &why),
    }
    match peer {
        // 1.6 and 1.8 were measured (docs/instance.md).
        Ok(_) => claims.at_least(SMALL, turns.ratio(SMALL, PEER)?, 1.0, "times DuckDB"),
        Err(error) => claims.not_compared(PEER, &format!("{error:#}")),
    }
    Ok(())
}

/// Measures the read bandwidth of all nodes together, each read by its own CPUs, in bytes per
/// second.
fn bandwidth(harness: &Harness) -> Result<f64> {
    let document = harness.json(&["bandwidth", "--kernel", "read", "--anyway"])?;
    local_bandwidth(&document).context("the bandwidth document has no local figures")
}

/// Returns the sum of the cells in which CPU node and memory node are the same.
fn local_bandwidth(document: &Value) -> Option<f64> {
    let memory_nodes = document["memory_nodes"].as_array()?;
    let cpu_nodes = document["cpu_nodes"].as_array()?.iter().enumerate();
    let cell = |(row, node)| {
        let column = memory_nodes.iter().position(|other| other == node)?;
        document["bytes_per_s"][row][column].as_f64()
    };
    let sum: f64 = cpu_nodes.map(cell).sum::<Option<f64>>()?;
    (sum > 0.0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::local_bandwidth;

    #[test]
    fn only_local_cells_are_added_up() {
        let document = json!({
            "cpu_nodes": [0, 1],
            "memory_nodes": [0, 1, 2],
            "bytes_per_s": [[10.0, 1.0, 2.0], [1.0, 20.0, 2.0]],
        });
        assert_eq!(local_bandwidth(&document), Some(30.0));
        assert_eq!(local_bandwidth(&json!({})), None);
    }
}
