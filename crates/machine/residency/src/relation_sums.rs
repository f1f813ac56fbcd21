//! Sums the blocks of a database's cache, and the nodes of their pages, by relation. Pure.

use std::cmp::Reverse;

use model::{BytesByNode, NodeSet, RelationResidency, Relations};

use crate::RangePages;

/// Sums by relation.
#[derive(Clone, Debug)]
pub struct RelationSums {
    relations: Vec<RelationResidency>,
    block_bytes: u64,
}

impl RelationSums {
    /// Begins with these relations, which have names and no figures.
    pub fn new(relations: Vec<RelationResidency>, block_bytes: u64) -> Self {
        RelationSums {
            relations,
            block_bytes,
        }
    }

    /// Adds the block at an offset of the pages to the relation with this index.
    ///
    /// # Panics
    /// When there is no such relation.
    pub fn add(&mut self, relation: usize, pages: &RangePages, offset: u64) {
        let relation = &mut self.relations[relation];
        relation.buffers += 1;
        relation.bytes += self.block_bytes;
        for (node, bytes) in pages.pages_of(offset, self.block_bytes) {
            match node {
                Some(node) => *relation.bytes_by_node.entry(node).or_default() += bytes,
                None => relation.bytes_without_node += bytes,
            }
        }
    }

    /// Returns the sums, largest first, and what they are together.
    pub fn finish(self, memory_nodes: &NodeSet) -> Relations {
        let mut relations = self.relations;
        let mut bytes_by_node = BytesByNode::new();
        for relation in &mut relations {
            relation.bytes_beyond_even = beyond_even(&relation.bytes_by_node, memory_nodes.len());
            for (node, bytes) in &relation.bytes_by_node {
                *bytes_by_node.entry(*node).or_default() += bytes;
            }
        }
        relations.sort_by_key(|it| (Reverse(it.bytes), it.database.clone(), it.filenode));
        Relations {
            block_bytes: self.block_bytes,
            buffers_used: relations.iter().map(|it| it.buffers).sum(),
            bytes_without_node: relations.iter().map(|it| it.bytes_without_node).sum(),
            bytes_by_node,
            relations,
            ..Relations::default()
        }
    }
}

/// Returns the bytes that the fullest node has beyond an even share of `nodes` nodes.
fn beyond_even(bytes: &BytesByNode, nodes: usize) -> u64 {
    let all: u64 = bytes.values().sum();
    let most = bytes.values().copied().max().unwrap_or(0);
    most.saturating_sub(all / nodes.max(1) as u64)
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;

    #[test]
    fn an_even_relation_has_nothing_beyond() {
        let check = |bytes: &[(u32, u64)], nodes: usize, expected: u64| {
            let bytes = bytes.iter().map(|(node, bytes)| (NodeId(*node), *bytes));
            assert_eq!(beyond_even(&bytes.collect(), nodes), expected);
        };
        check(&[(0, 100), (1, 100)], 2, 0);
        check(&[(0, 200)], 2, 100);
        check(&[(0, 200)], 4, 150);
        check(&[(0, 200)], 1, 0);
        check(&[], 0, 0);
    }

    #[test]
    fn blocks_are_summed_by_relation_and_node() {
        let of = |filenode| RelationResidency {
            filenode,
            ..RelationResidency::default()
        };
        let node = |id: u32| Some(NodeId(id));
        let nodes = [node(0), node(0), node(0), node(1), None, node(1)];
        let pages = RangePages::of(4096, 0, &nodes);
        let mut sums = RelationSums::new(vec![of(1), of(2)], 8192);
        sums.add(0, &pages, 0);
        sums.add(1, &pages, 8192);
        sums.add(1, &pages, 16384);
        let found = sums.finish(&"0-1".parse().unwrap());
        let largest = &found.relations[0];
        assert_eq!(
            (largest.filenode, largest.buffers, largest.bytes),
            (2, 2, 16384)
        );
        assert_eq!(
            largest.bytes_by_node,
            [(NodeId(0), 4096), (NodeId(1), 8192)].into()
        );
        assert_eq!(
            found.bytes_by_node,
            [(NodeId(0), 12288), (NodeId(1), 8192)].into()
        );
        assert_eq!((found.buffers_used, found.bytes_without_node), (3, 4096));
    }
}
