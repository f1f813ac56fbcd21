//! Nodes that are nearly full while there is much memory elsewhere: users lost servers with
//! hundreds of GiB free. One rule, for the doctor and for the notices of the live view.

use model::{ByteSize, NodeHugePages, NodeId, NodeSet, NodeSnapshot, node_words};

/// A node with less than this share of it left is nearly full.
const FULL_PERCENT: u64 = 2;

/// Of what is left elsewhere, less than this share of a node changes nothing.
const PLENTY_PERCENT: u64 = 20;

/// The memory of a node, in bytes.
#[derive(Clone, Debug)]
pub struct NodeMemory<'a> {
    /// The node.
    pub node: NodeId,
    /// All of it; more than 0.
    pub all: u64,
    /// What is free.
    pub free: u64,
    /// What programs get of that: the kernel keeps some in zones of low addresses.
    pub usable: u64,
    /// File cache that the kernel can drop.
    pub cache: Option<u64>,
    /// The pools of huge pages.
    pub huge_pages: &'a [NodeHugePages],
    /// Whether programs of other nodes should have memory here.
    pub is_for_others: bool,
}

impl<'a> NodeMemory<'a> {
    /// The memory of a node in a snapshot; `None` where it has none, or its size is unknown.
    pub(crate) fn of(node: &'a NodeSnapshot) -> Option<Self> {
        Some(NodeMemory {
            node: node.id,
            all: node.memory_bytes.filter(|all| *all > 0)?,
            free: node.free_bytes?,
            usable: node.free_bytes?,
            cache: node.page_cache_bytes,
            huge_pages: &node.huge_pages,
            is_for_others: true,
        })
    }

    fn is_below(&self, bytes: u64, percent: u64) -> bool {
        bytes < self.all / 100 * percent
    }

    /// What is left for programs: with the file cache, which is dropped at once for memory that is
    /// bound to the node, or without.
    fn left(&self, with_cache: bool) -> Option<u64> {
        match with_cache {
            true => Some(self.usable.saturating_add(self.cache?)),
            false => Some(self.usable),
        }
    }

    /// Its file cache, if that is much of it.
    pub fn much_cache(&self) -> Option<u64> {
        self.cache
            .filter(|cache| !self.is_below(*cache, PLENTY_PERCENT))
    }

    /// Its pools with free pages.
    pub fn idle_pools(&self) -> impl Iterator<Item = (&'a NodeHugePages, u64)> + use<'a> {
        let pools = self.huge_pages.iter();
        pools.filter_map(|pool| Some((pool, pool.free.filter(|free| *free > 0)?)))
    }

    /// Free memory of all memory, and why programs do not get it.
    fn words(&self) -> String {
        let [free, all, usable] = [self.free, self.all, self.usable].map(ByteSize);
        let words = format!("node {} has {free} free of {all}", self.node);
        match self.is_below(self.free, FULL_PERCENT) {
            true => words,
            false => format!(
                "{words}, but programs get {usable} of that: the rest is in zones of low \
                 addresses, which the kernel keeps for those who can use no others"
            ),
        }
    }
}

/// A node that is nearly full while there is much memory elsewhere.
#[derive(Clone, Debug)]
pub struct NearlyFull<'a> {
    /// The node.
    pub node: &'a NodeMemory<'a>,
    /// Where there is much memory.
    pub room: Room<'a>,
    /// Other nodes of which this is true.
    pub others: NodeSet,
}

/// Where there is much memory.
#[derive(Clone, Debug)]
pub enum Room<'a> {
    /// Bytes in free huge pages of the same node, which nothing but huge pages can use.
    OwnPools(u64),
    /// Another node has much free memory: what only prefers the full node goes there.
    Free(&'a NodeMemory<'a>),
    /// Another node has much memory with its file cache, and the full node has little with its
    /// own: what is bound to it is killed.
    Available(&'a NodeMemory<'a>),
}

impl<'a> NearlyFull<'a> {
    /// The first node that is nearly full; `None` when none is, or nothing is left elsewhere.
    pub fn first(nodes: &'a [NodeMemory<'a>]) -> Option<Self> {
        let mut full = nodes
            .iter()
            .filter_map(|node| Some((node, room(nodes, node)?)));
        let (node, room) = full.next()?;
        let others = full.map(|(other, _)| other.node).collect();
        Some(NearlyFull { node, room, others })
    }

    /// What is wrong, with figures.
    pub fn sentence(&self) -> String {
        let node = self.node;
        let mut text = node.words();
        text += &match &self.room {
            Room::OwnPools(bytes) => format!(
                ", because {} of it are free huge pages, which small pages cannot use",
                ByteSize(*bytes)
            ),
            Room::Free(other) => {
                format!(", node {} has {} free", other.node, ByteSize(other.free))
            }
            Room::Available(other) => format!(
                ", node {} has {} free and {} of file cache",
                other.node,
                ByteSize(other.free),
                ByteSize(other.cache.unwrap_or(0))
            ),
        };
        if let (Room::Free(_), Some(cache)) = (&self.room, node.much_cache()) {
            text += &format!("; {} of node {} are file cache", ByteSize(cache), node.node);
        }
        if !self.others.is_empty() {
            text += &format!("; nearly full, too: {}", node_words(&self.others));
        }
        text
    }
}

/// Where there is much memory for a node that is nearly full.
fn room<'a>(nodes: &'a [NodeMemory<'a>], node: &'a NodeMemory<'a>) -> Option<Room<'a>> {
    if !node.is_below(node.usable, FULL_PERCENT) {
        return None;
    }
    let bytes = |(pool, free): (&NodeHugePages, u64)| pool.page_bytes.saturating_mul(free);
    let idle = node.idle_pools().map(bytes).fold(0, u64::saturating_add);
    if !node.is_below(idle, PLENTY_PERCENT) {
        return Some(Room::OwnPools(idle));
    }
    let beside = |with_cache: bool| {
        let is_below = |it: &NodeMemory<'_>, percent| {
            let left = it.left(with_cache);
            left.map(|left| it.is_below(left, percent))
        };
        let mut others = nodes.iter();
        let other = others.find(|it| {
            let has_plenty = is_below(it, PLENTY_PERCENT) == Some(false);
            it.node != node.node && it.is_for_others && has_plenty
        });
        other.filter(|_| is_below(node, FULL_PERCENT) == Some(true))
    };
    let free = beside(false).map(Room::Free);
    free.or_else(|| beside(true).map(Room::Available))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// The sentence on nodes of 100 GiB with so many GiB free and in file cache.
    fn sentence(nodes: &[(u64, u64)]) -> Option<String> {
        let node = |(id, (free, cache)): (u32, &(u64, u64))| NodeMemory {
            node: NodeId(id),
            all: 100 * GIB,
            free: free * GIB,
            usable: free * GIB,
            cache: Some(cache * GIB),
            huge_pages: &[],
            is_for_others: true,
        };
        let nodes: Vec<NodeMemory<'_>> = (0..).zip(nodes).map(node).collect();
        NearlyFull::first(&nodes).map(|full| full.sentence())
    }

    #[test]
    fn a_full_node_beside_empty_ones_is_found() {
        let full = "node 1 has 1 GiB free of 100 GiB, node 0 has 90 GiB free";
        assert_eq!(sentence(&[(90, 0), (1, 0)]).unwrap(), full);
        assert_eq!(sentence(&[(90, 0), (3, 0)]), None);
        assert_eq!(sentence(&[(1, 0), (1, 0)]), None);
        let several = format!("{full}; nearly full, too: nodes 2-3");
        assert_eq!(
            sentence(&[(90, 0), (1, 0), (0, 0), (1, 0)]).unwrap(),
            several
        );
        let cached = format!("{full}; 60 GiB of node 1 are file cache");
        assert_eq!(sentence(&[(90, 0), (1, 60)]).unwrap(), cached);
    }

    #[test]
    fn file_cache_elsewhere_is_room_where_the_node_has_none() {
        let full = "node 1 has 1 GiB free of 100 GiB, node 0 has 1 GiB free and 90 GiB of file \
                    cache";
        assert_eq!(sentence(&[(1, 90), (1, 0)]).unwrap(), full);
        // Every server that has run for a while is so.
        assert_eq!(sentence(&[(1, 90), (1, 60)]), None);
    }
}
