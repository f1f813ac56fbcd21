//! Sums buffers and the nodes of their pages by relation. Pure.

use std::cmp::Reverse;

use model::{BytesByNode, NodeSet, RelationResidency, Relations};
use residency::RangePages;

use super::ask::Answers;
use super::contents::{Contents, RelationFile};
use super::names::Names;
use crate::buffers::BufferBlocks;

/// Returns the sums by relation, largest first.
pub(super) fn tally(
    answers: &Answers,
    blocks: &BufferBlocks,
    pages: &RangePages,
    memory_nodes: &NodeSet,
) -> Relations {
    let Contents { files, buffers } = &answers.contents;
    let named = files.iter().map(|file| named(*file, &answers.names));
    let mut relations: Vec<RelationResidency> = named.collect();
    for (buffer, file) in buffers {
        let relation = &mut relations[*file as usize];
        relation.buffers += 1;
        relation.bytes += blocks.block_bytes;
        let offset = blocks.offset + u64::from(*buffer) * blocks.block_bytes;
        for (node, bytes) in pages.pages_of(offset, blocks.block_bytes) {
            match node {
                Some(node) => *relation.bytes_by_node.entry(node).or_default() += bytes,
                None => relation.bytes_without_node += bytes,
            }
        }
    }
    let mut bytes_by_node = BytesByNode::new();
    for relation in &mut relations {
        relation.bytes_beyond_even = beyond_even(&relation.bytes_by_node, memory_nodes.len());
        for (node, bytes) in &relation.bytes_by_node {
            *bytes_by_node.entry(*node).or_default() += bytes;
        }
    }
    relations.sort_by_key(|it| (Reverse(it.bytes), it.database.clone(), it.filenode));
    Relations {
        server_version: answers.version.text.clone(),
        block_bytes: blocks.block_bytes,
        buffers: blocks.blocks,
        buffers_used: buffers.len() as u64,
        bytes_without_node: relations.iter().map(|it| it.bytes_without_node).sum(),
        bytes_by_node,
        relations,
        databases_without_names: answers.names.refused.clone(),
        ..Relations::default()
    }
}

/// Returns a relation by its names, without figures.
pub(super) fn named(file: RelationFile, names: &Names) -> RelationResidency {
    let known = names.of_files.get(&file);
    RelationResidency {
        database: names.of_databases.get(&file.database).cloned(),
        name: known.map(|known| known.name.clone()),
        kind: known.map(|known| known.kind.to_owned()),
        filenode: file.filenode,
        ..RelationResidency::default()
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

    use super::beyond_even;

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
}
