//! `cargo xtask bench NAME`: which benchmarks there are.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::ValueEnum;

use super::{
    bandwidth, bind, inspect, latency, latency_repeated, logical_reads, parallel_scan, postgres,
    relocate,
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
    /// --repeat, how often its intervals cover.
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
}

/// Runs one benchmark and prints what it found.
pub fn run(bench: Bench, repeat: Option<u32>) -> Result<ExitCode> {
    if let Some(repeats) = repeat {
        if bench != Bench::Latency {
            bail!("only `latency` can be repeated");
        }
        latency_repeated::run(repeats)?;
        return Ok(ExitCode::SUCCESS);
    }
    match bench {
        Bench::Bandwidth => bandwidth::run()?,
        Bench::Bind => bind::run()?,
        Bench::Inspect => inspect::run()?,
        Bench::Latency => latency::run()?,
        Bench::LogicalReads => logical_reads::run()?,
        Bench::Move => relocate::run()?,
        Bench::ParallelScan => parallel_scan::run()?,
        Bench::Postgres => postgres::run()?,
    }
    Ok(ExitCode::SUCCESS)
}
