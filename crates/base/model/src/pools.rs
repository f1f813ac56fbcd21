//! The types of `numalab.pages/1`: pools of huge pages, changes to them, and the needs of an SGA.

use serde::{Deserialize, Serialize};

use crate::NodeId;

/// The pool of one page size on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolOfNode {
    /// The node.
    pub node: NodeId,
    /// Size of a page.
    pub page_bytes: u64,
    /// Pages in the pool.
    pub total: u64,
    /// Pages of the pool that are not in use.
    pub free: Option<u64>,
    /// Free pages that are promised to mappings which have not touched them, and so not available.
    /// The kernel counts them for the machine: they are taken to be spread as the free ones are.
    #[serde(default)]
    pub reserved: Option<u64>,
    /// Pages of the pool that are freed as soon as they are no longer in use.
    pub surplus: Option<u64>,
    /// Free memory of the node outside of pools.
    pub node_free_bytes: Option<u64>,
    /// The part of it in blocks large enough for a page; `None` where the kernel does not show
    /// that, as for pages of 1 GiB.
    pub free_bytes_in_blocks: Option<u64>,
}

/// Memory for which pages of a pool are reserved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolReservation {
    /// The name of its mapping.
    pub name: String,
    /// Size of a page.
    pub page_bytes: u64,
    /// Pages that are mapped and not touched.
    pub pages: u64,
    /// Who has it mapped.
    pub processes: Vec<ReservingProcess>,
}

/// A process that has such memory mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservingProcess {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// A requested change of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolChange {
    /// The node.
    pub node: NodeId,
    /// Size of a page.
    pub page_bytes: u64,
    /// Pages before.
    pub before: u64,
    /// Pages requested.
    pub asked: u64,
    /// Pages that the kernel reached.
    pub reached: u64,
    /// Whether the kernel was asked to compact the node's memory, because it had stopped short.
    pub compacted: bool,
}

/// What an SGA needs from one node's pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolNeed {
    /// The node.
    pub node: NodeId,
    /// Pages needed there.
    pub needed: u64,
    /// Pages that are free there now.
    pub free: u64,
    /// Pages of these that are reserved.
    #[serde(default)]
    pub reserved: u64,
    /// Total pages that the pool must have.
    pub total_then: u64,
}
