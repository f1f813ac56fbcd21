//! The working set of a run that measures latency, and how it was found.

use serde::{Deserialize, Serialize};

/// A working set at which latency no longer depends on it, as far as one was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkingSet {
    /// Memory that one lap visits, in bytes: half as much again as the smallest size tried at which
    /// caches no longer lower the latency, at most `bytes_max`.
    pub bytes: u64,
    /// The largest that would have been tried, in bytes.
    pub bytes_max: u64,
    /// Whether caches no longer lowered the latency at the last size tried. `false`: at `bytes_max`
    /// they still did, or there was no memory for more.
    pub is_beyond_caches: bool,
    /// The sizes tried, ascending.
    pub points: Vec<WorkingSetPoint>,
}

/// One size that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WorkingSetPoint {
    /// Memory that one lap visits, in bytes.
    pub bytes: u64,
    /// Number of allocations in which both latencies were measured.
    pub memories: u32,
    /// Median latency after a lap, ns.
    pub ns: f64,
    /// Median latency of lines that no cache holds, in the same memory: they were flushed and not
    /// visited since, ns.
    pub uncached_ns: f64,
    /// Median of the ratios of both in the same memory. Below 1: caches hold a part of the lap.
    pub ratio: f64,
}
