//! Fills an empty SGA: tables in random physical order, their indexes, the hash directory, and the
//! data file if there is one.

use crate::Error;
use crate::block::Row;
use crate::btree::{self, IndexBlock};
use crate::buffer_cache::{clear, install};
use crate::layout::{Block, BlockId};
use crate::sga::Sga;
use crate::storage::Storage;

/// Loads every table, or the column; returns the sum of the column. `seed` determines the order of
/// rows on blocks. With `storage`, it also writes every block to the data file; the buffers then
/// hold the indexes, and as many rows as fit.
///
/// # Errors
/// [`Error::Unwritable`] when the data file cannot be written.
pub(crate) fn load(sga: &Sga<'_>, storage: Option<&Storage<'_>>, seed: u64) -> Result<u64, Error> {
    clear(sga);
    if sga.layout.column_blocks > 0 {
        return load_column(sga, storage);
    }
    let mut random = fastrand::Rng::with_seed(seed);
    for table in 0..sga.layout.tables {
        let image = TableImage::new(table, sga.layout.rows_per_table, &mut random);
        let first = sga.layout.first_buffer(table);
        if let Some(storage) = storage {
            // Uses one buffer, which gets its final content below.
            for number in 0..sga.layout.blocks_per_table() {
                image.write(number, &sga.blocks[first as usize]);
                storage.write(sga, first)?;
            }
        }
        let each = sga
            .layout
            .buffers_per_table
            .min(sga.layout.blocks_per_table());
        for (buffer, number) in (first..first + each).zip(image.index_first()) {
            let id = image.write(number, &sga.blocks[buffer as usize]);
            install(sga, buffer, id);
        }
    }
    Ok(0)
}

/// Loads the column, each part of it into its home pool.
fn load_column(sga: &Sga<'_>, storage: Option<&Storage<'_>>) -> Result<u64, Error> {
    let mut total = 0u64;
    for pool in 0..sga.layout.pools {
        let first = pool * sga.layout.buffers_per_pool();
        let end = first + sga.layout.buffers_per_pool();
        for (place, number) in (first..).zip(sga.layout.column_stretch(pool)) {
            let (buffer, id) = (place.min(end - 1), BlockId::column(number));
            // Blocks beyond the buffers pass through the last buffer, which keeps the last block.
            let block = &sga.blocks[buffer as usize];
            total = total.wrapping_add(block.write_column(id));
            if let Some(storage) = storage {
                storage.write(sga, buffer)?;
            }
            if place < end - 1 || number + 1 == sga.layout.column_stretch(pool).end {
                install(sga, buffer, id);
            }
        }
    }
    Ok(total)
}

/// The blocks of one table and its index, writable to any buffer.
struct TableImage {
    table: u32,
    /// Key of the row of each row block.
    keys: Vec<u32>,
    index: Vec<IndexBlock>,
}

impl TableImage {
    fn new(table: u32, rows: u32, random: &mut fastrand::Rng) -> Self {
        let mut row_blocks: Vec<u32> = (0..rows).collect();
        random.shuffle(&mut row_blocks);
        let mut keys = vec![0; rows as usize];
        for (key, number) in (0..).zip(&row_blocks) {
            keys[*number as usize] = key;
        }
        let mut index = Vec::new();
        btree::build(&row_blocks, |block| index.push(block));
        TableImage { table, keys, index }
    }

    /// Returns the numbers of all blocks, index blocks first: they are read most.
    fn index_first(&self) -> impl Iterator<Item = u32> + use<> {
        let rows = self.keys.len() as u32;
        (rows..rows + self.index.len() as u32).chain(0..rows)
    }

    /// Writes block `number`: rows come first, then the index.
    fn write(&self, number: u32, target: &Block) -> BlockId {
        if let Some(key) = self.keys.get(number as usize) {
            let id = BlockId::row(self.table, number);
            target.write_row(id, Row::of(self.table, u64::from(*key)));
            return id;
        }
        let block = &self.index[number as usize - self.keys.len()];
        let id = BlockId::index(self.table, block.number);
        target.write_index(id, block.kind, &block.entries, block.next_leaf);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::load;
    use crate::sga::Sga;
    use crate::small_sga::{layout, mapped};

    #[test]
    fn neighbours_by_key_are_not_neighbours_in_memory() {
        let layout = layout(1, 16 << 20);
        let mapping = mapped(layout.bytes);
        let sga = Sga::create(&mapping, layout);
        load(&sga, None, 1).unwrap();
        let keys: Vec<u64> = sga
            .blocks
            .iter()
            .filter_map(|block| Some(block.row(0)?.key))
            .collect();
        assert_eq!(keys.len(), layout.rows_per_table as usize);
        let neighbours = keys
            .windows(2)
            .filter(|pair| pair[0].abs_diff(pair[1]) == 1)
            .count();
        assert!(
            neighbours < keys.len() / 100,
            "{neighbours} of {} pairs",
            keys.len()
        );
    }
}
