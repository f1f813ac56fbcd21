//! `cargo xtask bench NAME`: which benchmark runs, and for how long.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::harness::Harness;
use super::{
    bandwidth, bind, first_touch, inspect, latency, logical_reads, matrix_time, parallel_scan,
    postgres, relocate, relocate_stall, start_up, verdict, watch,
};
use crate::arguments::Bench;
use crate::package::{self, Machine};

/// Runs one benchmark, prints what it found, and fails if one of its claims is not met.
pub(crate) fn run(bench: Bench, only: Option<&str>, limit: Option<Duration>) -> Result<ExitCode> {
    let is_usual = only.is_none() || bench == Bench::Move;
    ensure!(is_usual, "only `move` has cases of its own");
    // Before the program as it is built, which goes to the same place first.
    let packaged = (bench == Bench::Bind)
        .then(|| package::build(Machine::Amd64))
        .transpose()?;
    let mut harness = Harness::start(limit.unwrap_or_else(|| usual_limit(bench)))?;
    let it = &mut harness;
    match (bench, packaged) {
        (Bench::Bind, packaged) => bind::run(it, &packaged.unwrap_or_default()),
        (Bench::Bandwidth, _) => bandwidth::run(it),
        (Bench::FirstTouch, _) => first_touch::run(it),
        (Bench::Inspect, _) => inspect::run(it),
        (Bench::Latency, _) => latency::run(it),
        (Bench::LogicalReads, _) => logical_reads::run(it),
        (Bench::MatrixTime, _) => matrix_time::run(it),
        (Bench::Move, _) => relocate::run(it, only),
        (Bench::MoveStall, _) => relocate_stall::run(it),
        (Bench::ParallelScan, _) => parallel_scan::run(it),
        (Bench::Postgres, _) => postgres::run(it),
        (Bench::StartUp, _) => start_up::run(it),
        (Bench::Verdict, _) => verdict::run(it),
        (Bench::Watch, _) => watch::run(it),
    }?;
    harness.claims.conclude()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the default time limit of a benchmark, without the build.
fn usual_limit(bench: Bench) -> Duration {
    let minutes = match bench {
        Bench::Bandwidth | Bench::Move | Bench::MoveStall => 40,
        Bench::Verdict => 90,
        _ => 15,
    };
    Duration::from_secs(60 * minutes)
}
