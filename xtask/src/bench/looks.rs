//! What the parts of `cargo xtask bench inspect` time.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Most seconds for `--sample`, whatever the size of a segment.
pub(super) const SAMPLE_SECONDS_MAX: f64 = 0.2;

/// Runs a program; returns the seconds that it took.
pub(super) fn timed(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    let status = command
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("run {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{:?} ended with {status}", command.get_program());
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Reads the maps of each process once; returns the seconds that it took: a lower bound for any
/// program that shows what they have mapped.
pub(super) fn reading_maps(family: &[String]) -> Result<f64> {
    let start = Instant::now();
    for pid in family {
        let path = format!("/proc/{pid}/maps");
        std::fs::read(&path).with_context(|| format!("read {path}"))?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The ids of a process and its children.
pub(super) fn family(own: &str) -> Result<Vec<String>> {
    let path = format!("/proc/{own}/task/{own}/children");
    let children = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    Ok(std::iter::once(own)
        .chain(children.split(' '))
        .map(str::to_owned)
        .filter(|pid| !pid.trim().is_empty())
        .collect())
}
