//! What a node may run out of, and how much of it is left.

use std::fmt;

use model::{ByteSize, NodeId, NodeSnapshot, Snapshot};

/// What runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Free memory and page cache that the kernel can drop.
    Memory,
    /// Huge pages of this size.
    HugePages {
        /// Size of a page.
        page_bytes: u64,
    },
}

impl Resource {
    /// What every node may run out of: what it has none of is left out.
    pub(crate) fn all(snapshot: &Snapshot) -> impl Iterator<Item = (NodeId, Resource)> {
        snapshot.nodes.iter().flat_map(|node| {
            let pools = node.huge_pages.iter().map(|pool| pool.page_bytes);
            let pools = pools.map(|page_bytes| Resource::HugePages { page_bytes });
            let all = std::iter::once(Resource::Memory).chain(pools);
            all.filter(|it| it.left(node).is_some())
                .map(|it| (node.id, it))
        })
    }

    /// How much of it a node has left: bytes or pages.
    pub(crate) fn left(self, node: &NodeSnapshot) -> Option<u64> {
        match self {
            Resource::Memory => available(node).filter(|_| node.memory_bytes > Some(0)),
            Resource::HugePages { page_bytes } => {
                let mut pools = node.huge_pages.iter();
                let pool = pools.find(|pool| pool.page_bytes == page_bytes)?;
                pool.free.filter(|_| pool.total > 0)
            }
        }
    }

    /// Bytes of one of what [`Resource::left`] counts.
    pub(crate) fn unit_bytes(self) -> u64 {
        match self {
            Resource::Memory => 1,
            Resource::HugePages { page_bytes } => page_bytes,
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Memory => formatter.write_str("memory"),
            Resource::HugePages { page_bytes } => {
                write!(formatter, "huge pages of {}", ByteSize(*page_bytes))
            }
        }
    }
}

/// Free memory and page cache of a node, in bytes; `None` when one is unknown.
pub fn available(node: &NodeSnapshot) -> Option<u64> {
    node.free_bytes?.checked_add(node.page_cache_bytes?)
}
