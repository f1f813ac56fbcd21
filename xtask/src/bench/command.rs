//! `cargo xtask bench NAME`: which benchmarks there are.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueEnum;

use super::{
    bandwidth, bind, inspect, latency, latency_repeated, logical_reads, parallel_scan, postgres,
    relocate, verdict,
};

/// The table of benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Bench {
    /// `numalab bandwidth` against `likwid-bench`, `mbw` and `stress-ng --stream`.
    Bandwidth,
    /// `numalab bind` against `numactl`: the time until a program has started and ended.
    Bind,
    /// `numalab inspect` against `numastat -p`: 4 GiB of shared memory in 50 processes.
    Inspect,
    /// `numalab latency` against `lat_mem_rd` and a plain chase, and the time of a curve; with
    /// --repeat, whether its intervals hold what the plain chase measures.
    Latency,
    /// One session of the embedded instance at the plateau, on a 1 GiB cache, and how much of its
    /// time is memory latency.
    LogicalReads,
    /// `numalab move` against `migratepages` on the same memory, in an emulated guest.
    Move,
    /// A parallel scan against the read bandwidth measured around it, and against DuckDB.
    ParallelScan,
    /// A session of the embedded instance against one of PostgreSQL, on the same data.
    Postgres,
    /// How sure verdicts are: windows in turns against trials one after another, a case against
    /// itself (--repeat times), and differences of known size.
    Verdict,
}

impl Bench {
    /// The time that it has for all but the build.
    fn limit(self) -> Duration {
        let minutes = match self {
            Bench::Bandwidth => 40,
            Bench::Verdict => 90,
            _ => 15,
        };
        Duration::from_secs(60 * minutes)
    }
}

/// Runs one benchmark, prints what it found, and fails when one of its claims is not met.
pub fn run(bench: Bench, repeat: Option<u32>, limit: Option<Duration>) -> Result<ExitCode> {
    let limit = limit.unwrap_or_else(|| bench.limit());
    if let (Some(repeats), true) = (repeat, bench != Bench::Verdict) {
        if bench != Bench::Latency {
            bail!("only `latency` and `verdict` can be repeated");
        }
        latency_repeated::run(repeats, limit)?;
        return Ok(ExitCode::SUCCESS);
    }
    match bench {
        Bench::Bandwidth => bandwidth::run(limit)?,
        Bench::Bind => bind::run(limit)?,
        Bench::Inspect => inspect::run(limit)?,
        Bench::Latency => latency::run(limit)?,
        Bench::LogicalReads => logical_reads::run(limit)?,
        Bench::Move => relocate::run(limit)?,
        Bench::ParallelScan => parallel_scan::run(limit)?,
        Bench::Postgres => postgres::run(limit)?,
        Bench::Verdict => verdict::run(repeat, limit)?,
    }
    Ok(ExitCode::SUCCESS)
}
