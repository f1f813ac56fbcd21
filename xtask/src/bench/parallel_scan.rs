//! `cargo xtask bench parallel-scan`: compares the parallel scan with the read bandwidth that
//! `numalab bandwidth` measures just before and just after it, and with `SELECT sum()` of DuckDB
//! (PyPI package duckdb) over as many values in memory, in turns.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::claims::Claims;
use super::experiment::{self, Rate};
use super::huge_pages::HugePages;
use super::own_binary::OwnBinary;
use super::spread::Spread;
use super::supervisor::Supervisor;
use crate::{program, repository};

/// The experiment, in the format that users write.
const EXPERIMENT: &str = include_str!("parallel_scan.toml");
/// The program for DuckDB: sums the same number of values again and again, and prints the bytes per
/// second of the median.
const DUCKDB: &str = include_str!("parallel_scan_duckdb.py");
/// Values of the column: 1 GiB of blocks of 1020 values.
const VALUES: &str = "133693440";
/// Turns of bandwidth, scan and DuckDB.
const TURNS: usize = 5;
/// Trials of each case in a turn.
const TRIALS: &str = "5";
/// Seconds of each window.
const SECONDS: &str = "1";
/// Pages of 2 MiB for the column and its overhead.
const PAGES: u64 = 600;
/// Minimum share of the bandwidth for a scan in the same kind of pages.
const SHARE_MIN: f64 = 0.9;
/// Minimum ratio of a scan's rate to DuckDB's in the same kind of pages; 1.6 and 1.8 were measured
/// (docs/instance.md).
const TIMES_DUCKDB_MIN: f64 = 1.0;

/// The case that is compared with the bandwidth: both in huge pages.
const HUGE: &str = "huge";
/// The case that is compared with DuckDB: both in pages of 4 KiB, unless the kernel gives others.
const SMALL: &str = "all-cpus";

/// Builds the release binary, measures in turns and prints rates and ratios; fails if the scan is
/// below its share of the bandwidth, or slower than DuckDB.
pub(super) fn run(limit: Duration) -> Result<()> {
    let numalab = OwnBinary::build(limit)?;
    let _pages = HugePages::require(&numalab, PAGES)?;
    let mut claims = Claims::default();
    let peer = DuckDb::install(&numalab.folder);
    if let Err(error) = &peer {
        claims.not_compared("DuckDB", &format!("{error:#}"));
    }
    let mut figures = Figures::default();
    let mut before = bandwidth(&numalab)?;
    for _ in 0..TURNS {
        let run = experiment::run(&numalab, EXPERIMENT, TRIALS, SECONDS)?;
        let after = bandwidth(&numalab)?;
        let supervisor = &numalab.supervisor;
        let duckdb = peer
            .as_ref()
            .ok()
            .map(|peer| peer.measure(supervisor))
            .transpose()?;
        figures.add(&run, f64::midpoint(before, after), duckdb)?;
        before = after;
    }
    figures.judge(&mut claims);
    claims.conclude()
}

/// Bytes per second of every turn, and ratios within turns.
#[derive(Default)]
struct Figures(BTreeMap<String, Vec<f64>>);

impl Figures {
    /// Adds a turn.
    fn add(&mut self, run: &Value, bandwidth: f64, duckdb: Option<f64>) -> Result<()> {
        let mut note = |name: &str, value| self.0.entry(name.to_owned()).or_default().push(value);
        note("read bandwidth", bandwidth);
        for case in ["one", SMALL, HUGE] {
            let rate = Rate::of(run, case)?.median;
            note(case, rate);
            note(&format!("{case}: share of the bandwidth"), rate / bandwidth);
            if let Some(duckdb) = duckdb {
                note(&format!("{case}: times DuckDB"), rate / duckdb);
            }
        }
        if let Some(duckdb) = duckdb {
            note("DuckDB", duckdb);
        }
        Ok(())
    }

    /// Prints every figure and judges the claims.
    fn judge(&self, claims: &mut Claims) {
        for (name, values) in &self.0 {
            if let Some(spread) = Spread::of(values) {
                let scale = if spread.median > 1e6 { 1e9 } else { 1.0 };
                let unit = if scale > 1.0 { " GB/s" } else { "" };
                println!("{name}: {}{unit}", spread.divided_by(scale));
            }
        }
        let mut at_least = |key: &str, least: f64| {
            let median = self.0.get(key).and_then(|values| Spread::of(values));
            let is_met = median.is_some_and(|spread| spread.median >= least);
            claims.add(key, &format!("median at least {least}"), is_met);
        };
        at_least(&format!("{HUGE}: share of the bandwidth"), SHARE_MIN);
        at_least(&format!("{SMALL}: times DuckDB"), TIMES_DUCKDB_MIN);
    }
}

/// Measures the read bandwidth of all nodes together, each read by its own CPUs, in bytes per
/// second.
fn bandwidth(numalab: &OwnBinary) -> Result<f64> {
    let document = numalab.json(&["bandwidth", "--kernel", "read", "--anyway", "--json"])?;
    local_bandwidth(&document).context("the bandwidth document has no local figures")
}

/// Returns the sum of the cells in which CPU node and memory node are the same.
fn local_bandwidth(document: &Value) -> Option<f64> {
    let nodes = |key: &str| document[key].as_array();
    let (cpu_nodes, memory_nodes) = (nodes("cpu_nodes")?, nodes("memory_nodes")?);
    let mut sum = 0.0;
    for (row, node) in cpu_nodes.iter().enumerate() {
        let column = memory_nodes.iter().position(|other| other == node)?;
        sum += document["bytes_per_s"][row][column].as_f64()?;
    }
    (sum > 0.0).then_some(sum)
}

/// DuckDB, installed for this benchmark.
struct DuckDb {
    folder: std::path::PathBuf,
}

impl DuckDb {
    fn install(folder: &Path) -> Result<Self> {
        let folder = folder.join("duckdb");
        let target = folder.display().to_string();
        let install = ["-m", "pip", "install", "--quiet", "--upgrade"];
        let what = ["--target", &target, "duckdb"];
        let words = [&install[..], &what[..]].concat();
        program::output("python3", &words, &repository::root()).context("pip install duckdb")?;
        Ok(DuckDb { folder })
    }

    /// Measures bytes per second.
    fn measure(&self, supervisor: &Supervisor) -> Result<f64> {
        let mut command = Command::new("python3");
        command
            .args(["-c", DUCKDB, VALUES])
            .env("PYTHONPATH", &self.folder);
        let output = supervisor.output(&command)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        let rate = text.trim().parse();
        rate.with_context(|| format!("DuckDB said {text:?} {said:?}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Claims, Figures, local_bandwidth};

    #[test]
    fn a_scan_below_its_share_of_the_bandwidth_or_below_duckdb_is_told() {
        let check = |huge: f64, duckdb: Option<f64>, is_met: bool| {
            let case =
                |name: &str, it: f64| json!({ "name": name, "median": it, "low": it, "high": it });
            let cases = [
                case("one", 20e9),
                case("all-cpus", 30e9),
                case("huge", huge),
            ];
            let mut figures = Figures::default();
            let run = json!({ "cases": cases });
            figures.add(&run, 50e9, duckdb).unwrap();
            let mut claims = Claims::default();
            figures.judge(&mut claims);
            assert_eq!(claims.conclude().is_ok(), is_met, "{huge} {duckdb:?}");
        };
        check(45e9, Some(10e9), true);
        check(44e9, Some(10e9), false);
        check(45e9, Some(31e9), false);
        check(45e9, None, false);
    }

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
