//! The types of `numalab.firmware/1`: distances from measured latencies, in the place of those of
//! the firmware.

use serde::{Deserialize, Serialize};

use crate::NodeId;

/// Distances of a machine: those of its firmware, and those that its measured latencies give.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDistances {
    /// What was measured: the id of a stored run, or a file.
    pub source: String,
    /// The nodes of the rows and columns.
    pub nodes: Vec<NodeId>,
    /// The firmware's distances as the kernel reports them; `None` for unknown ones.
    pub firmware: Vec<Vec<Option<u32>>>,
    /// Distances from measured latencies, 10 for local, at most 254.
    pub measured: Vec<Vec<u8>>,
    /// The same with one distance for both directions, as schedulers want it.
    pub for_schedulers: Vec<Vec<u8>>,
    /// The largest difference between the two directions of a pair, as a share of the larger one:
    /// what `for_schedulers` does not say. 0 where all pairs are symmetric.
    pub asymmetry: f64,
    /// Where a distance was derived and not measured, one sentence each.
    pub notes: Vec<String>,
}

/// What replacing the firmware's table takes on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableReplacement {
    /// Whether the running kernel takes tables from its initial RAM disk; `None` where unknown.
    pub kernel_takes_tables: Option<bool>,
    /// How far the kernel is locked down (kernel_lockdown(7)); `None` where it cannot be.
    pub lockdown: Option<String>,
    /// Whether the firmware has a table that is replaced; otherwise one is added.
    pub replaces: bool,
}
