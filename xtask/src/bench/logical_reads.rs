//! `cargo xtask bench logical-reads`: one session at the plateau, against the same code on a cache
//! so small that memory plays no part. The difference is the time that is memory latency: the
//! instructions, latches and pins are the same. Beside it caches from 64 MiB to 8 GiB, small pages
//! and huge, one session and two, each as a ratio to the first.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::release_binary;
use crate::repository;

/// The experiment, in the format that users write.
const EXPERIMENT: &str = include_str!("logical_reads.toml");
/// Trials of each case.
const TRIALS: &str = "5";
/// Seconds of each window.
const SECONDS: &str = "1";

/// Builds the release binary, runs the experiment and prints rates and the share.
pub fn run() -> Result<()> {
    let binary = release_binary::build()?;
    let folder = repository::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let file = folder.join("logical-reads.toml");
    std::fs::write(&file, EXPERIMENT).with_context(|| format!("write {}", file.display()))?;
    let output = Command::new(&binary)
        .args(["run", "--json", "--trials", TRIALS, "--seconds", SECONDS])
        .arg(&file)
        .env("XDG_STATE_HOME", &folder)
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("run {}", binary.display()))?;
    if !output.status.success() {
        bail!("{} ended with {}", binary.display(), output.status);
    }
    let run: Value = serde_json::from_slice(&output.stdout).context("the run is no JSON")?;
    println!("{}", summary(&run)?);
    Ok(())
}

/// What the benchmark found, in words.
fn summary(run: &Value) -> Result<String> {
    let memory = Rate::of(run, "memory")?;
    let cache = Rate::of(run, "processor-cache")?;
    // Of the time per read on memory, the time per read on the processor's cache is not latency.
    let share = |memory: f64, cache: f64| 100.0 * (1.0 - memory / cache);
    let work_unit = &run["calibration"]["work_unit"];
    let none = Vec::new();
    let list = |key: &str| run[key].as_array().unwrap_or(&none);
    let mut others = String::new();
    for case in list("cases") {
        let name = case["name"].as_str().context("a case has a name")?;
        let rate = Rate::of(run, name)?;
        let ratio = rate.median / memory.median;
        others.push_str(&format!(
            "\n{name:>16}: {ratio:.2} of memory; {}",
            rate.text()
        ));
    }
    for skipped in list("skipped") {
        others.push_str(&format!(
            "\nNOT RUN: {}: {}",
            skipped["case"], skipped["reason"]
        ));
    }
    Ok(format!(
        "one session, work unit {work_unit}, median of {TRIALS} windows of {SECONDS} s:\n\
         1 GiB cache: {}\n\
         1 MiB cache: {}\n\
         share of the time that is memory latency: {:.0} % (95 % intervals: {:.0} to {:.0} %)\
         {others}",
        memory.text(),
        cache.text(),
        share(memory.median, cache.median),
        share(memory.high, cache.low),
        share(memory.low, cache.high),
    ))
}

/// Logical reads per second of one case, with its interval.
struct Rate {
    median: f64,
    low: f64,
    high: f64,
}

impl Rate {
    fn of(run: &Value, name: &str) -> Result<Self> {
        let cases = run["cases"].as_array().context("a run has cases")?;
        let case = cases.iter().find(|case| case["name"] == name);
        let case = case.with_context(|| format!("the run has no case {name}"))?;
        let figure = |key: &str| {
            case[key]
                .as_f64()
                .with_context(|| format!("case {name} has no {key}: {}", case[key]))
        };
        Ok(Rate {
            median: figure("median")?,
            low: figure("low")?,
            high: figure("high")?,
        })
    }

    fn text(&self) -> String {
        format!(
            "{:.2} M logical reads/s ({:.2} to {:.2}), {:.1} ns each",
            self.median / 1e6,
            self.low / 1e6,
            self.high / 1e6,
            1e9 / self.median
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::summary;

    #[test]
    fn the_share_is_that_of_the_time_per_read() {
        let case = |name: &str, median: f64| {
            let (low, high) = (median * 0.9, median * 1.1);
            json!({ "name": name, "median": median, "low": low, "high": high })
        };
        let run = json!({
            "calibration": { "work_unit": 64 },
            "cases": [case("memory", 8e6), case("processor-cache", 80e6)],
        });
        let text = summary(&run).unwrap();
        assert!(
            text.contains("8.00 M logical reads/s (7.20 to 8.80), 125.0 ns each"),
            "{text}"
        );
        assert!(
            text.contains("memory latency: 90 % (95 % intervals: 88 to 92 %)"),
            "{text}"
        );
    }

    #[test]
    fn a_run_without_an_interval_is_no_result() {
        let run = json!({ "cases": [{ "name": "memory", "median": 8e6, "low": null }] });
        assert!(summary(&run).is_err());
    }
}
