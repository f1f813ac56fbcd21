//! `cargo xtask bench NAME`: which benchmarks there are.

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use super::{bind, inspect, latency, logical_reads, parallel_scan, postgres, relocate};

/// The table of benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Bench {
    /// `numalab bind` against `numactl`: the time until a program has started and ended.
    Bind,
    /// `numalab inspect` against `numastat -p`: 4 GiB of shared memory in 50 processes.
    Inspect,
    /// `numalab latency` against a plain chase: local memory, two caches, and the time of a curve.
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
pub fn run(bench: Bench) -> Result<ExitCode> {
    match bench {
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
