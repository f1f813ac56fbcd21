//! Latencies that lmbench's `lat_mem_rd` prints: rows of a size and a latency.

use std::collections::BTreeMap;

use model::NodeId;

/// From CPUs of a node to memory of another.
type Pair = (NodeId, NodeId);

/// The last row of each pair of nodes.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    /// The size in MB, and the latency in ns.
    rows: BTreeMap<Pair, (f64, f64)>,
}

/// Less than this is cached by any processor that has nodes.
const SIZE_MIN_MB: f64 = 8.0;
/// What accesses to memory may take.
const LATENCIES_NS: std::ops::RangeInclusive<f64> = 10.0..=100_000.0;

impl Latencies {
    /// The size grows from row to row: the last one is memory.
    pub(crate) fn row(&mut self, pair: Pair, size_mb: f64, ns: f64) {
        self.rows.insert(pair, (size_mb, ns));
    }

    /// The latencies of memory, and whether some are left out: those that were broken off before
    /// the size of the others, or cannot be.
    pub(crate) fn finish(&self) -> (BTreeMap<Pair, f64>, bool) {
        let sizes = self.rows.values().map(|(size, _)| *size);
        let largest = sizes.fold(SIZE_MIN_MB, f64::max);
        let whole = self.rows.iter();
        let whole = whole.filter(|(_, (size, ns))| *size >= largest && LATENCIES_NS.contains(ns));
        let whole: BTreeMap<Pair, f64> = whole.map(|(pair, (_, ns))| (*pair, *ns)).collect();
        let is_broken = whole.len() < self.rows.len();
        (whole, is_broken)
    }
}
