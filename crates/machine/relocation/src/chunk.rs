//! The pages of a stretch, as they were found.

use linux::map_files::{HugeWindow, Window};
use model::NodeId;

use super::memory::Stretch;
use super::sequence::Sequence;

/// Pages that the kernel moves together: one page, or all pages of a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    /// Number of the first page.
    pub page: u64,
    /// Pages in it.
    pub pages: u64,
    /// Its place in a pattern: its number among the pages of its size. Of larger pages of private
    /// memory, those that are there count.
    pub turn: u64,
    /// Address of the first page.
    pub address: u64,
    /// Its node.
    pub node: NodeId,
}

/// The pages of a stretch that are in memory, while they can be queried.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// The process whose addresses they are; 0 for this one.
    pub pid: u32,
    /// The pages, ascending.
    pub units: Vec<Unit>,
    /// Queries of nodes that this took.
    pub calls: u64,
    /// Keeps the addresses of this process valid.
    pub mapped: Option<Mapped>,
}

/// A mapping of this process.
#[derive(Debug)]
pub(super) enum Mapped {
    Small { _window: Window },
    Huge { _window: HugeWindow },
}

impl Chunk {
    /// The node of every page of the stretch that was read; `None` where there is no page.
    pub(super) fn nodes(&self, stretch: &Stretch) -> Sequence {
        let mut nodes = vec![None; stretch.pages as usize];
        for unit in &self.units {
            put(&mut nodes, stretch, unit, unit.node);
        }
        nodes
    }
}

/// Says where the pages of a unit are, in the nodes of its stretch.
pub(super) fn put(nodes: &mut Sequence, stretch: &Stretch, unit: &Unit, node: NodeId) {
    let first = (unit.page - stretch.first) as usize;
    let end = (first + unit.pages as usize).min(nodes.len());
    nodes[first..end].fill(Some(node));
}
