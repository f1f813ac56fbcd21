//! `cargo xtask bench NAME`: which benchmark runs, and for how long.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};

use super::{
    bandwidth, bind, first_touch, inspect, latency, latency_repeated, logical_reads, matrix_time,
    parallel_scan, postgres, relocate, relocate_stall, start_up, verdict, watch,
};
use crate::arguments::Bench;

/// Runs one benchmark, prints what it found, and fails if one of its claims is not met.
pub(crate) fn run(
    bench: Bench,
    repeat: Option<u32>,
    only: Option<&str>,
    limit: Option<Duration>,
) -> Result<ExitCode> {
    let limit = limit.unwrap_or_else(|| usual_limit(bench));
    if let (Some(repeats), true) = (repeat, bench != Bench::Verdict) {
        if bench != Bench::Latency {
            bail!("only `latency` and `verdict` can be repeated");
        }
        latency_repeated::run(repeats, limit)?;
        return Ok(ExitCode::SUCCESS);
    }
    if only.is_some() && bench != Bench::Move {
        bail!("only `move` has cases of its own");
    }
    match bench {
        Bench::Alternation => verdict::run_alternation(limit)?,
        Bench::Bandwidth => bandwidth::run(limit)?,
        Bench::Bind => bind::run(limit)?,
        Bench::FirstTouch => first_touch::run(limit)?,
        Bench::Inspect => inspect::run(limit)?,
        Bench::Latency => latency::run(limit)?,
        Bench::LogicalReads => logical_reads::run(limit)?,
        Bench::MatrixTime => matrix_time::run(limit)?,
        Bench::Move => relocate::run(only, limit)?,
        Bench::MoveStall => relocate_stall::run(limit)?,
        Bench::ParallelScan => parallel_scan::run(limit)?,
        Bench::Postgres => postgres::run(limit)?,
        Bench::StartUp => start_up::run(limit)?,
        Bench::Verdict => verdict::run(repeat, limit)?,
        Bench::Watch => watch::run(limit)?,
    }
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
