//! What a read of a block costs beside its own time, as a table says: a truth that placements can
//! be tested against. It says nothing about hardware.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::NodeId;

/// A table of costs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulatedCost {
    /// The nodes of its rows and columns.
    pub nodes: Vec<NodeId>,
    /// In ns: a row for the node on which a session runs, a column for the node of the block.
    pub ns: Vec<Vec<u32>>,
}

impl fmt::Display for EmulatedCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row: &Vec<u32>| row.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = self.ns.iter().map(row).collect();
        write!(f, "{} ns", rows.join("; "))
    }
}
