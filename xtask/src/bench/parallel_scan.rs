//! `cargo xtask bench parallel-scan`: workers on all CPUs against the read bandwidth that
//! `numalab bandwidth` measures before and after them, and against `SELECT sum()` of DuckDB (PyPI
//! package duckdb) over as many values in memory.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::release_binary;
use crate::{program, repository};

/// The experiment, in the format that users write.
const EXPERIMENT: &str = include_str!("parallel_scan.toml");
/// What DuckDB does: the same number of values, the same sum again and again; prints bytes per
/// second of the median.
const DUCKDB: &str = include_str!("parallel_scan_duckdb.py");
/// Values of the column: 1 GiB of blocks of 1020 values.
const VALUES: &str = "133693440";
/// Trials of each case.
const TRIALS: &str = "7";
/// Seconds of each window.
const SECONDS: &str = "2";

/// Builds the release binary and prints the rates and their ratios.
pub fn run() -> Result<()> {
    let binary = release_binary::build()?;
    let folder = repository::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let file = folder.join("parallel-scan.toml");
    std::fs::write(&file, EXPERIMENT).with_context(|| format!("write {}", file.display()))?;
    let before = bandwidth(&binary, &folder)?;
    let path = file.display().to_string();
    let words = [
        "run",
        "--json",
        "--trials",
        TRIALS,
        "--seconds",
        SECONDS,
        &path,
    ];
    let run = document(&binary, &folder, &words)?;
    let after = bandwidth(&binary, &folder)?;
    println!("{}", summary(&run, [before, after], duckdb(&folder))?);
    Ok(())
}

/// The read bandwidth of all nodes together, each read by its own CPUs, bytes per second.
fn bandwidth(binary: &Path, folder: &Path) -> Result<f64> {
    let document = document(binary, folder, &["bandwidth", "--kernel", "read", "--json"])?;
    local_bandwidth(&document).context("the bandwidth document has no local figures")
}

/// The sum of the cells in which CPU node and memory node are the same.
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

fn document(binary: &Path, folder: &Path, words: &[&str]) -> Result<Value> {
    let output = Command::new(binary)
        .args(words)
        .env("XDG_STATE_HOME", folder)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("run {}", binary.display()))?;
    if !output.status.success() {
        bail!(
            "{} {words:?} ended with {}",
            binary.display(),
            output.status
        );
    }
    serde_json::from_slice(&output.stdout).context("the answer is no JSON")
}

/// Bytes per second of DuckDB, or why there are none.
fn duckdb(folder: &Path) -> std::result::Result<f64, String> {
    let folder = folder.join("duckdb");
    let target = folder.display().to_string();
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--upgrade",
        "--target",
        &target,
        "duckdb",
    ];
    program::output("python3", &install, &repository::root())
        .map_err(|error| format!("pip cannot install duckdb: {error:#}"))?;
    let output = Command::new("python3")
        .args(["-c", DUCKDB, VALUES])
        .env("PYTHONPATH", &folder)
        .output()
        .map_err(|error| format!("python3 does not run: {error}"))?;
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    let text = String::from_utf8_lossy(stdout);
    text.trim()
        .parse()
        .map_err(|_| format!("it said {:?} {:?}", text, String::from_utf8_lossy(stderr)))
}

/// What the benchmark found, in words.
fn summary(
    run: &Value,
    bandwidth: [f64; 2],
    duckdb: std::result::Result<f64, String>,
) -> Result<String> {
    let cases = run["cases"].as_array().context("a run has cases")?;
    let figure = |name: &str, key: &str| {
        let case = cases.iter().find(|case| case["name"] == name);
        let value = case.and_then(|case| case[key].as_f64());
        value.with_context(|| format!("the run has no {key} of case {name}"))
    };
    let line = |name: &str| -> Result<String> {
        let giga = |key| figure(name, key).map(|value| value / 1e9);
        Ok(format!(
            "{:.1} GB/s ({:.1} to {:.1})",
            giga("median")?,
            giga("low")?,
            giga("high")?
        ))
    };
    let all = figure("all-cpus", "median")?;
    let [before, after] = bandwidth;
    let best = before.max(after);
    let huge = match line("huge") {
        Ok(line) => format!("{line}: {:.0} %", 100.0 * figure("huge", "median")? / best),
        Err(_) => "NOT RUN: the pool of huge pages holds no SGA (`numalab pages`)".to_owned(),
    };
    let duckdb = match duckdb {
        Ok(rate) => format!(
            "DuckDB, SELECT sum() over as many values in memory: {:.1} GB/s; the scan is {:.1} \
             times as fast",
            rate / 1e9,
            all / rate
        ),
        Err(why) => format!("DUCKDB DID NOT RUN: {why}"),
    };
    Ok(format!(
        "a column of 1 GiB in 4 KiB pages, median of {TRIALS} windows of {SECONDS} s:\n\
         a worker on every CPU: {}\n\
         one worker: {}\n\
         read bandwidth of all CPUs, before and after: {:.1} and {:.1} GB/s\n\
         the scan reaches {:.0} % of the better one\n\
         in huge pages, as those of the bandwidth: {huge}\n\
         {duckdb}",
        line("all-cpus")?,
        line("one")?,
        before / 1e9,
        after / 1e9,
        100.0 * all / best,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{local_bandwidth, summary};

    #[test]
    fn the_share_is_that_of_the_better_bandwidth() {
        let case = |name: &str, median: f64| {
            let (low, high) = (median * 0.9, median * 1.1);
            json!({ "name": name, "median": median, "low": low, "high": high })
        };
        let run = json!({ "cases": [case("all-cpus", 45e9), case("one", 20e9)] });
        let text = summary(&run, [40e9, 50e9], Ok(15e9)).unwrap();
        assert!(text.contains("reaches 90 % of the better one"), "{text}");
        assert!(text.contains("3.0 times as fast"), "{text}");
        let text = summary(&run, [40e9, 50e9], Err("no pip".to_owned())).unwrap();
        assert!(text.contains("DUCKDB DID NOT RUN: no pip"), "{text}");
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
