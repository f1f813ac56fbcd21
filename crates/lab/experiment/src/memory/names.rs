//! Names of the experiments that measure memory itself, as stored in runs.

/// Latency from every node to every node.
pub const LATENCY: &str = "latency";
/// Latency by working set.
pub const CURVE: &str = "latency-curve";
/// Transfers of a cache line between CPUs.
pub const TRANSFERS: &str = "line-transfers";
/// Bandwidth from every node to every node.
pub const BANDWIDTH: &str = "bandwidth";
/// Latency under load.
pub const LOADED: &str = "loaded-latency";
