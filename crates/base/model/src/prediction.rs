//! The types of `numalab.predict/1`: what placements would mean for a target, without trying them.

use serde::Serialize;

use crate::{CpusOfCure, MemoryFigures, NodeId};

/// What placements would mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prediction {
    /// The target, as requested.
    pub target: String,
    /// What measured the latencies that distances are; `None` if they are the firmware's.
    pub distances_by: Option<String>,
    /// The memory as it lies now.
    pub now: MemoryFigures,
    /// The placements.
    pub placements: Vec<PredictedPlacement>,
    /// What is not exact, one sentence each.
    pub notes: Vec<String>,
}

/// A placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PredictedPlacement {
    /// In the words of `numalab try --to`.
    pub placement: String,
    /// Whether private memory stays where it is, as with `numalab move --shared`.
    pub is_shared_only: bool,
    /// The CPUs that all threads get; `None` if it leaves them theirs.
    pub cpus: Option<CpusOfCure>,
    /// Bytes that leave their node.
    pub bytes_to_move: u64,
    /// The memory as it would lie.
    pub after: MemoryFigures,
    /// The bound: by how much CPU time per unit of work changes at most, as a share of it. Below 0
    /// it falls.
    pub cpu_time_change_at_most: f64,
    /// What must be free, by page size and node.
    pub needs: Vec<NeededMemory>,
}

/// Memory that must be free on a node before a move.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NeededMemory {
    /// The node.
    pub node: NodeId,
    /// The size of the pages, if they are huge pages of a pool.
    pub huge_page_bytes: Option<u64>,
    /// Bytes that come, less those that leave.
    pub bytes: u64,
    /// Bytes that may come; `None` if that is not known.
    pub room_bytes: Option<u64>,
}

impl NeededMemory {
    /// Whether the node is known to have less.
    pub fn lacks_room(&self) -> bool {
        self.room_bytes.is_some_and(|room| self.bytes > room)
    }
}
