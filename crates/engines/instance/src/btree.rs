//! The B-tree index: its number of blocks, and how to build it. Module `statement` reads it.

use crate::block::{ENTRIES_MAX, Kind};
use crate::layout::NONE;

/// One block of an index under construction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IndexBlock {
    /// Its number within the index.
    pub number: u32,
    /// Leaf or branch.
    pub kind: Kind,
    /// Keys and block numbers, ascending.
    pub entries: Vec<(u64, u32)>,
    /// The next leaf, or [`NONE`].
    pub next_leaf: u32,
}

/// Returns the blocks of an index over `rows` rows: full leaves, then branches level by level, the
/// root last.
pub(crate) fn index_blocks(rows: u32) -> u32 {
    let mut level = rows.div_ceil(ENTRIES_MAX);
    let mut blocks = level;
    while level > 1 {
        level = level.div_ceil(ENTRIES_MAX);
        blocks += level;
    }
    blocks
}

/// Returns the number of the root block of an index over `rows` rows.
pub(crate) fn root(rows: u32) -> u32 {
    index_blocks(rows) - 1
}

/// Returns the maximum number of rows that fit in `blocks` blocks together with their index.
pub(crate) fn rows_that_fit(blocks: u32) -> u32 {
    // Each full leaf serves ENTRIES_MAX rows, and branches add about one block per ENTRIES_MAX
    // leaves. Start from that estimate and step down.
    let estimate = u64::from(blocks) * u64::from(ENTRIES_MAX) / (u64::from(ENTRIES_MAX) + 1);
    let mut rows = estimate as u32;
    while rows > 0 && rows + index_blocks(rows) > blocks {
        rows -= 1;
    }
    rows
}

/// Builds the index of rows 0, 1, 2, … whose row blocks are `row_blocks`; passes each block to
/// `take`.
pub(crate) fn build(row_blocks: &[u32], mut take: impl FnMut(IndexBlock)) {
    let leaves = (row_blocks.len() as u32).div_ceil(ENTRIES_MAX);
    let mut level = Vec::new();
    for (number, rows) in (0u32..).zip(row_blocks.chunks(ENTRIES_MAX as usize)) {
        let first_key = u64::from(number) * u64::from(ENTRIES_MAX);
        let entries: Vec<(u64, u32)> = (first_key..).zip(rows.iter().copied()).collect();
        let next_leaf = if number + 1 < leaves {
            number + 1
        } else {
            NONE
        };
        level.push((first_key, number));
        take(IndexBlock {
            number,
            kind: Kind::Leaf,
            entries,
            next_leaf,
        });
    }
    let mut next_number = leaves;
    while level.len() > 1 {
        let mut parents = Vec::new();
        for entries in level.chunks(ENTRIES_MAX as usize) {
            parents.push((entries[0].0, next_number));
            let entries = entries.to_vec();
            let number = next_number;
            take(IndexBlock {
                number,
                kind: Kind::Branch,
                entries,
                next_leaf: NONE,
            });
            next_number += 1;
        }
        level = parents;
    }
}

#[cfg(test)]
mod tests {
    use super::{build, index_blocks, root, rows_that_fit};
    use crate::block::Kind;

    #[test]
    fn the_blocks_of_an_index_are_counted_as_built() {
        for rows in [1, 2, 509, 510, 511, 1020, 1021, 260_100, 260_101] {
            let row_blocks: Vec<u32> = (0..rows).rev().collect();
            let mut built = Vec::new();
            build(&row_blocks, |block| built.push(block));
            assert_eq!(built.len() as u32, index_blocks(rows), "{rows} rows");
            let last = built.last().unwrap();
            assert_eq!(last.number, root(rows));
            assert_eq!(last.kind == Kind::Leaf, rows <= 510);
            let leaf_rows: usize = built
                .iter()
                .filter(|block| block.kind == Kind::Leaf)
                .map(|block| block.entries.len())
                .sum();
            assert_eq!(leaf_rows as u32, rows);
        }
    }

    #[test]
    fn as_many_rows_fit_as_leave_room_for_the_index() {
        for blocks in [2, 4, 511, 512, 10_922, 32_768, 131_072] {
            let rows = rows_that_fit(blocks);
            assert!(rows + index_blocks(rows) <= blocks, "{blocks} blocks");
            assert!(
                rows + 1 + index_blocks(rows + 1) > blocks,
                "{blocks} blocks"
            );
        }
    }
}
