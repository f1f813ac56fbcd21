//! The binary as users have it, with its own store, and its measurements of memory.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::supervisor::Supervisor;
use crate::{program, repository};

/// The binary.
pub(super) struct OwnBinary {
    binary: PathBuf,
    /// The directory of its store and of the benchmarks' programs.
    pub folder: PathBuf,
    /// Starts the binary and its peers.
    pub supervisor: Supervisor,
}

/// One cell: local memory.
pub(super) struct Cell {
    pub cpu: u64,
    pub bytes: u64,
    pub ns: f64,
    /// `huge`, `transparent` or `small`.
    pub page_kind: String,
}

/// One curve of local memory.
pub(super) struct Curve {
    pub cpu: u64,
    pub seconds: f64,
    /// Working sets in bytes, and ns.
    pub points: Vec<(u64, f64)>,
}

impl OwnBinary {
    /// Builds the binary; the benchmark's time starts afterwards.
    pub(super) fn build(limit: Duration) -> Result<Self> {
        let binary = release()?;
        let folder = repository::target().join("bench");
        std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        Ok(OwnBinary {
            binary,
            folder,
            supervisor: Supervisor::start(limit)?,
        })
    }

    /// Runs the binary.
    pub(super) fn output(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(&self.binary);
        command.args(arguments).env("XDG_STATE_HOME", &self.folder);
        self.supervisor.output(&command)
    }

    /// Runs the binary and reads its document.
    pub(super) fn json(&self, arguments: &[&str]) -> Result<Value> {
        let output = self.output(arguments)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("numalab {arguments:?} ended with {}: {said}", output.status);
        }
        serde_json::from_slice(&output.stdout).context("numalab wrote no JSON")
    }

    /// Returns the newest run.
    pub(super) fn last_run(&self) -> Result<Value> {
        self.json(&["show", "last", "--json"])
    }

    /// Measures the first cell, which is local, in one round; with this working set in bytes, or
    /// with the one that it finds.
    pub(super) fn cell(&self, working_set: Option<u64>) -> Result<Cell> {
        let mut words = vec!["latency", "--anyway", "--rounds", "1", "--json"];
        let bytes = working_set.map(|bytes| bytes.to_string());
        if let Some(bytes) = &bytes {
            words.extend(["--working-set", bytes]);
        }
        self.json(&words)?;
        let run = self.last_run()?;
        let case = &run["cases"][0];
        let trial = &case["trials"][0];
        let memory = &trial["evidence"]["measurements"][0]["memory_after"];
        Ok(Cell {
            cpu: cpu_of(case)?,
            bytes: trial["kernel"]["working_set_bytes"]
                .as_u64()
                .context("a cell has a working set")?,
            ns: trial["value"].as_f64().context("a cell has a value")?,
            page_kind: memory["page_kind"].as_str().unwrap_or("?").to_string(),
        })
    }

    /// Measures the curve of the first node once.
    pub(super) fn curve(&self) -> Result<Curve> {
        let arguments = ["latency", "--curve", "--anyway", "--rounds", "1", "--json"];
        let document = self.json(&arguments)?;
        let run = self.last_run()?;
        let case = &run["cases"][0];
        let points = document["curves"][0]["points"].as_array();
        let points = points.context("a curve has points")?.iter();
        let point = |point: &Value| Some((point["bytes"].as_u64()?, point["ns"].as_f64()?));
        Ok(Curve {
            cpu: cpu_of(case)?,
            seconds: case["trials"][0]["window_s"]
                .as_f64()
                .context("a curve has a time")?,
            points: points.filter_map(point).collect(),
        })
    }
}

/// Returns the CPU on which a case is measured.
pub(super) fn cpu_of(case: &Value) -> Result<u64> {
    let cpus = case["placement"]["cpus"].as_str();
    let cpu = cpus.and_then(|cpus| cpus.parse().ok());
    cpu.with_context(|| format!("one CPU measures, and it is {cpus:?}"))
}

/// Builds numalab for release; returns its path.
pub(crate) fn release() -> Result<PathBuf> {
    let words = [
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "numalab",
    ];
    program::output("cargo", &words, &repository::root())?;
    Ok(repository::target().join("release/numalab"))
}
