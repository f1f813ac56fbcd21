//! The words of `numalab.pages/1`: pools of huge pages, what was changed of them, and what an SGA
//! needs.

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
    /// Of them, pages not in use.
    pub free: Option<u64>,
    /// Of them, pages that go as soon as they are free.
    pub surplus: Option<u64>,
    /// Free memory of the node outside of pools.
    pub node_free_bytes: Option<u64>,
    /// Of that, what lies in blocks that are large enough for a page; `None` where the kernel does
    /// not tell, as for pages of 1 GiB.
    pub free_bytes_in_blocks: Option<u64>,
}

/// A pool that was to be set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolChange {
    /// The node.
    pub node: NodeId,
    /// Size of a page.
    pub page_bytes: u64,
    /// Pages before.
    pub before: u64,
    /// Pages asked for.
    pub asked: u64,
    /// Pages that the kernel came to.
    pub reached: u64,
    /// Whether the kernel was asked to compact the node's memory, because it stopped short.
    pub compacted: bool,
}

/// What an SGA needs of one node's pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolNeed {
    /// The node.
    pub node: NodeId,
    /// Pages that are needed there.
    pub needed: u64,
    /// Pages that are free there now.
    pub free: u64,
    /// Pages that the pool must have altogether.
    pub total_then: u64,
}
