//! The content of a block: row blocks, index leaves, index branches, column blocks.
//!
//! docs/instance.md shows the layout.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::{BLOCK_BYTES, BLOCK_WORDS, Block, BlockId, NONE};

/// Words in the header.
pub(crate) const HEADER_WORDS: usize = 4;
/// The header word that holds the block's checksum.
const SEAL_WORD: usize = 3;
/// Words in an index entry.
const ENTRY_WORDS: usize = 2;
/// Index entries that fit a block.
pub(crate) const ENTRIES_MAX: u32 = ((BLOCK_WORDS - HEADER_WORDS) / ENTRY_WORDS) as u32;
/// Values in a column block.
pub(crate) const COLUMN_VALUES: u32 = (BLOCK_WORDS - HEADER_WORDS) as u32;
/// Words in a row before its filler.
const ROW_WORDS: usize = 4;
/// Bytes in a row, including filler.
pub(crate) const ROW_BYTES: u64 = 1024;

/// Words in a cache line.
pub(crate) const LINE_WORDS: usize = 8;
/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// One row.
    Row = 1,
    /// Keys and the blocks of their rows.
    Leaf = 2,
    /// Lowest keys and child blocks.
    Branch = 3,
    /// Values of the column and nothing else.
    Column = 4,
}

/// A row as stored in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Key.
    pub key: u64,
    /// The column that statements sum.
    pub value: u64,
    /// Number of updates of the row since it was loaded.
    pub updates: u64,
    /// The [`checksum`] of the table number and the fields above.
    pub checksum: u64,
}

impl Row {
    /// Creates row `key` of `table`.
    pub(crate) fn of(table: u32, key: u64) -> Self {
        let value = mix(key ^ 0x5bd1_e995) >> 40;
        Row {
            key,
            value,
            updates: 0,
            checksum: checksum(table, key, value, 0),
        }
    }

    /// Returns this row of `table` after one more update.
    #[inline]
    pub(crate) fn updated(self, table: u32) -> Self {
        let updates = self.updates.wrapping_add(1);
        Row {
            updates,
            checksum: checksum(table, self.key, self.value, updates),
            ..self
        }
    }

    /// Returns whether this is row `key` of `table`, undamaged.
    #[inline]
    pub(crate) fn is(&self, table: u32, key: u64) -> bool {
        self.key == key && self.checksum == checksum(table, key, self.value, self.updates)
    }
}

/// Returns the checksum of a row.
#[inline]
pub(crate) fn checksum(table: u32, key: u64, value: u64, updates: u64) -> u64 {
    // The odd factor maps each number of updates to a different word.
    let updates = updates.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mix(key ^ mix((value ^ u64::from(table) << 32).wrapping_add(updates)))
}

/// Mixes 64 bits so that every input bit affects every output bit (the finalizer of SplitMix64;
/// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
#[inline]
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

impl Block {
    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.words[index].load(Ordering::Relaxed)
    }

    fn set_word(&self, index: usize, value: u64) {
        self.words[index].store(value, Ordering::Relaxed);
    }

    /// Returns the id stored in the block.
    #[inline]
    pub(crate) fn id(&self) -> BlockId {
        BlockId(self.word(0))
    }

    /// Returns whether the block is of this kind.
    #[inline]
    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.word(1) as u32 == kind as u32
    }

    /// Returns the number of entries, rows or values.
    #[inline]
    pub(crate) fn items(&self) -> u32 {
        (self.word(1) >> 32) as u32
    }

    /// Returns the leaf with the next higher keys.
    #[inline]
    pub(crate) fn next_leaf(&self) -> Option<u32> {
        let next = self.word(2) as u32;
        (next != NONE).then_some(next)
    }

    /// Stores the checksum of the rest of the block, before the block is written to the data file.
    pub(crate) fn seal(&self) {
        self.set_word(SEAL_WORD, self.seal_of_content());
    }

    /// Returns whether the block is unchanged since it was sealed.
    pub(crate) fn is_sealed(&self) -> bool {
        self.word(SEAL_WORD) == self.seal_of_content()
    }

    /// Returns the checksum of the block. Four independent lanes avoid waiting for the previous
    /// multiplication; every bit of a word and the word's position affect the result.
    fn seal_of_content(&self) -> u64 {
        let mut lanes = [1u64, 2, 3, 4];
        for (place, word) in self.words.iter().enumerate() {
            let word = match place {
                SEAL_WORD => 0,
                _ => word.load(Ordering::Relaxed),
            };
            let lane = &mut lanes[place % 4];
            *lane = (*lane ^ word)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29);
        }
        lanes.into_iter().fold(0, |sum, lane| mix(sum ^ lane))
    }

    fn write_header(&self, id: BlockId, kind: Kind, items: u32, next_leaf: u32) {
        self.set_word(0, id.0);
        self.set_word(1, u64::from(kind as u32) | u64::from(items) << 32);
        self.set_word(2, u64::from(next_leaf));
        self.set_word(3, 0);
    }

    /// Makes this a row block.
    pub(crate) fn write_row(&self, id: BlockId, row: Row) {
        self.write_header(id, Kind::Row, 1, NONE);
        let offset = BLOCK_BYTES - ROW_BYTES;
        self.set_word(HEADER_WORDS, offset | ROW_BYTES << 16);
        let first = offset as usize / 8;
        self.set_row(first, row);
        for word in first + ROW_WORDS..BLOCK_WORDS {
            self.set_word(word, row.key ^ word as u64);
        }
    }

    fn set_row(&self, first: usize, row: Row) {
        let words = [row.key, row.value, row.updates, row.checksum];
        for (index, word) in (first..).zip(words) {
            self.set_word(index, word);
        }
    }

    /// Replaces the row of slot `slot`, which must exist.
    #[inline]
    pub(crate) fn replace_row(&self, slot: u32, row: Row) {
        let offset = self.word(HEADER_WORDS + slot as usize) & 0xffff;
        self.set_row(offset as usize / 8, row);
    }

    /// Makes this a copy of another block.
    pub(crate) fn copy_from(&self, other: &Block) {
        for (target, source) in self.words.iter().zip(&other.words) {
            target.store(source.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Returns the row of slot `slot`; `None` if this is not a row block with such a slot.
    #[inline]
    pub(crate) fn row(&self, slot: u32) -> Option<Row> {
        if !self.is(Kind::Row) || slot >= self.items() {
            return None;
        }
        let offset = self.word(HEADER_WORDS + slot as usize) & 0xffff;
        let first = offset as usize / 8;
        let words: &[AtomicU64] = self.words.get(first..first + ROW_WORDS)?;
        let [key, value, updates, checksum] =
            [0, 1, 2, 3].map(|index| words[index].load(Ordering::Relaxed));
        Some(Row {
            key,
            value,
            updates,
            checksum,
        })
    }

    /// Makes this the column block `id`; returns the sum of its values.
    pub(crate) fn write_column(&self, id: BlockId) -> u64 {
        self.write_header(id, Kind::Column, COLUMN_VALUES, NONE);
        let first = (id.0 & 0xffff_ffff) * u64::from(COLUMN_VALUES);
        let mut sum = 0u64;
        for (place, word) in (first..).zip(HEADER_WORDS..BLOCK_WORDS) {
            let value = mix(place) >> 40;
            self.set_word(word, value);
            sum = sum.wrapping_add(value);
        }
        sum
    }

    /// Makes this an index block with `entries` of (key, block number), ascending by key.
    pub(crate) fn write_index(
        &self,
        id: BlockId,
        kind: Kind,
        entries: &[(u64, u32)],
        next_leaf: u32,
    ) {
        assert!(
            entries.len() <= ENTRIES_MAX as usize,
            "the entries fit a block"
        );
        self.write_header(id, kind, entries.len() as u32, next_leaf);
        for (index, &(key, block)) in entries.iter().enumerate() {
            self.set_word(HEADER_WORDS + index * ENTRY_WORDS, key);
            self.set_word(HEADER_WORDS + index * ENTRY_WORDS + 1, u64::from(block));
        }
    }

    /// Returns entry `index` of an index block: key and block number.
    #[inline]
    pub(crate) fn entry(&self, index: u32) -> (u64, u32) {
        let first = HEADER_WORDS + index as usize * ENTRY_WORDS;
        (self.word(first), self.word(first + 1) as u32)
    }

    /// Returns the number of entries whose key is at most `key`, by binary search.
    #[inline]
    pub(crate) fn entries_up_to(&self, key: u64) -> u32 {
        let (mut low, mut high) = (0, self.items().min(ENTRIES_MAX));
        while low < high {
            let middle = low.midpoint(high);
            if self.entry(middle).0 <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Row};
    use crate::layout::{Block, BlockId, NONE};

    #[test]
    fn a_row_is_read_back_and_a_changed_bit_is_seen() {
        let block = Block::zeroed();
        let row = Row::of(7, 1234);
        block.write_row(BlockId::row(7, 99), row);
        assert_eq!(block.row(0), Some(row));
        assert_eq!(block.row(1), None);
        assert!(row.is(7, 1234) && !row.is(7, 1235) && !row.is(6, 1234));
        for bit in 0..64 {
            assert!(
                !Row {
                    value: row.value ^ 1 << bit,
                    ..row
                }
                .is(7, 1234),
                "bit {bit}"
            );
        }
        let updated = row.updated(7);
        block.replace_row(0, updated);
        assert_eq!(block.row(0), Some(updated));
        assert!(updated.is(7, 1234) && updated.updates == 1 && updated.value == row.value);
        assert!(
            !Row {
                updates: 0,
                ..updated
            }
            .is(7, 1234)
        );
    }

    #[test]
    fn a_search_counts_the_keys_up_to() {
        let block = Block::zeroed();
        let entries: Vec<(u64, u32)> = (0..510).map(|index| (10 * index, index as u32)).collect();
        block.write_index(BlockId::index(0, 0), Kind::Leaf, &entries, NONE);
        for (key, expected) in [
            (0, 1),
            (9, 1),
            (10, 2),
            (5089, 509),
            (5090, 510),
            (u64::MAX, 510),
        ] {
            assert_eq!(block.entries_up_to(key), expected, "key {key}");
        }
        assert_eq!(block.next_leaf(), None);
    }

    #[test]
    fn an_empty_block_has_no_row() {
        assert_eq!(Block::zeroed().row(0), None);
    }

    #[test]
    fn a_sealed_block_shows_every_changed_bit_and_every_swapped_word() {
        let block = Block::zeroed();
        block.write_row(BlockId::row(7, 99), Row::of(7, 1234));
        assert!(!block.is_sealed());
        block.seal();
        assert!(block.is_sealed());
        for (place, bit) in [(0, 0), (3, 5), (4, 63), (896, 1), (1023, 40)] {
            let word = block.word(place);
            block.set_word(place, word ^ 1 << bit);
            assert!(!block.is_sealed(), "bit {bit} of word {place}");
            block.set_word(place, word);
        }
        let (one, other) = (block.word(900), block.word(904));
        block.set_word(900, other);
        block.set_word(904, one);
        assert!(!block.is_sealed());
    }
}
