//! Nodes that are full while others have much memory: users lost servers with hundreds of GiB free.

use model::{ByteSize, NodeId, Snapshot};

use crate::forecast::{HitInstance, hits, hits_text};
use crate::resource::available;

/// A node with less available memory than this share of it is full.
const FULL_SHARE: f64 = 0.02;

/// A node with more available memory than this share could have been used.
const PLENTY_SHARE: f64 = 0.20;

/// A node that is full while others have much memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FullNode {
    /// The node.
    node: NodeId,
    /// What is available there.
    available_bytes: u64,
    /// What is available on all other nodes.
    elsewhere_bytes: u64,
    /// The databases that are hit.
    hits: Vec<HitInstance>,
}

impl FullNode {
    /// The sentence on it.
    fn sentence(&self) -> String {
        let text = format!(
            "node {} is full: {} available, while other nodes have {}",
            self.node,
            ByteSize(self.available_bytes),
            ByteSize(self.elsewhere_bytes)
        );
        text + &hits_text(&self.hits, "hits")
    }
}

/// The nodes that are full at this moment.
fn full(latest: &Snapshot) -> Vec<FullNode> {
    let nodes = latest.nodes.iter().filter_map(|node| {
        let memory = node.memory_bytes.filter(|memory| *memory > 0)?;
        Some((node.id, available(node)?, memory))
    });
    let nodes: Vec<(NodeId, u64, u64)> = nodes.collect();
    let share = |available: u64, memory: u64| available as f64 / memory as f64;
    let has_plenty = nodes
        .iter()
        .any(|(_, left, all)| share(*left, *all) > PLENTY_SHARE);
    let full = nodes
        .iter()
        .filter(|(_, left, all)| has_plenty && share(*left, *all) < FULL_SHARE);
    let full = full.map(|(node, left, _)| {
        let others = nodes.iter().filter(|(other, _, _)| other != node);
        FullNode {
            node: *node,
            available_bytes: *left,
            elsewhere_bytes: others.fold(0, |sum, (_, left, _)| sum.saturating_add(*left)),
            hits: hits(latest, *node),
        }
    });
    full.collect()
}

/// The sentence on the nodes that are full; `None` when none is.
pub(crate) fn sentence(latest: &Snapshot) -> Option<String> {
    let full = full(latest);
    let (first, others) = full.split_first()?;
    let others: model::NodeSet = others.iter().map(|it| it.node).collect();
    Some(match others.is_empty() {
        true => first.sentence(),
        false => format!("{}; also full: {others}", first.sentence()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{InstanceSnapshot, MemorySnapshot, NodeSnapshot};

    const GIB: u64 = 1 << 30;

    fn machine(free: &[u64]) -> Snapshot {
        let node = |(id, free): (u32, &u64)| NodeSnapshot {
            id: NodeId(id),
            memory_bytes: Some(100 * GIB),
            free_bytes: Some(*free),
            page_cache_bytes: Some(0),
            ..NodeSnapshot::default()
        };
        let memory = MemorySnapshot {
            bytes_by_node: [(NodeId(1), 30 * GIB), (NodeId(0), GIB)].into(),
            complete: true,
            ..MemorySnapshot::default()
        };
        Snapshot {
            nodes: (0..).zip(free).map(node).collect(),
            instances: vec![InstanceSnapshot {
                name: "postgres:/data".to_owned(),
                pids: vec![7],
                memory: Some(memory),
            }],
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_full_node_beside_empty_ones_is_named() {
        let expected = "node 1 is full: 1 GiB available, while other nodes have 90 GiB; hits \
                        postgres:/data (most of its memory is there)";
        assert_eq!(sentence(&machine(&[90 * GIB, GIB])).unwrap(), expected);
        assert_eq!(sentence(&machine(&[90 * GIB, 3 * GIB])), None);
        assert_eq!(sentence(&machine(&[GIB, GIB])), None);
        let several = sentence(&machine(&[90 * GIB, GIB, 0, 0])).unwrap();
        assert!(several.ends_with("; also full: 2-3"), "{several}");
    }
}
