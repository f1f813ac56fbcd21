//! Sums buffers and the nodes of their pages by relation. Pure.

use model::{NodeSet, RelationResidency, Relations};
use residency::{RangePages, RelationSums};

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
    let mut sums = RelationSums::new(named.collect(), blocks.block_bytes);
    for (buffer, file) in buffers {
        let offset = blocks.offset + u64::from(*buffer) * blocks.block_bytes;
        sums.add(*file as usize, pages, offset);
    }
    Relations {
        server_version: answers.version.text.clone(),
        buffers: blocks.blocks,
        databases_without_names: answers.names.refused.clone(),
        ..sums.finish(memory_nodes)
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
