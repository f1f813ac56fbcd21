//! Experiments of benchmarks, run by the binary as users have it.

use anyhow::{Context, Result};
use serde_json::Value;

use super::own_binary::OwnBinary;

/// Runs the experiment `text`, in the format that users write; returns its document.
pub(super) fn run(numalab: &OwnBinary, text: &str, trials: &str, seconds: &str) -> Result<Value> {
    let file = numalab.folder.join("experiment.toml");
    std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
    let file = file.display().to_string();
    let arguments = ["run", "--json", "--trials", trials, "--seconds", seconds];
    numalab.json(&[&arguments[..], &[&file]].concat())
}

/// Logical reads per second of one case, with its interval.
pub(super) struct Rate {
    /// The median.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Rate {
    /// Reads the rate of the case `name`.
    pub(super) fn of(run: &Value, name: &str) -> Result<Self> {
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

    /// Returns it as text.
    pub(super) fn text(&self) -> String {
        format!(
            "{:.2} M logical reads/s ({:.2} to {:.2}), {:.1} ns each",
            self.median / 1e6,
            self.low / 1e6,
            self.high / 1e6,
            1e9 / self.median
        )
    }
}
