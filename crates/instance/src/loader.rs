//! Fills an empty SGA: tables in random physical order, their indexes, the hash directory.

use std::sync::atomic::Ordering;

use crate::block::Row;
use crate::btree;
use crate::buffer_cache::install;
use crate::layout::{BlockId, NONE};
use crate::sga::Sga;

/// Loads every table. The order of rows on blocks follows from `seed`.
pub fn load(sga: &Sga<'_>, seed: u64) {
    for bucket in sga.directory {
        bucket.first.store(NONE, Ordering::Relaxed);
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let rows = sga.layout.rows_per_table;
    for table in 0..sga.layout.tables {
        // A table's blocks lie in its buffers in order of block number, its index behind them.
        let first_row_buffer = sga.layout.first_buffer(table);
        let first_index_buffer = first_row_buffer + rows;
        let mut row_blocks: Vec<u32> = (0..rows).collect();
        random.shuffle(&mut row_blocks);
        for (key, &number) in (0u64..).zip(&row_blocks) {
            let (buffer, id) = (first_row_buffer + number, BlockId::row(table, number));
            sga.blocks[buffer as usize].write_row(id, Row::of(table, key));
            install(sga, buffer, id);
        }
        btree::build(&row_blocks, |block| {
            let buffer = first_index_buffer + block.number;
            let id = BlockId::index(table, block.number);
            let target = &sga.blocks[buffer as usize];
            target.write_index(id, block.kind, &block.entries, block.next_leaf);
            install(sga, buffer, id);
        });
    }
}

#[cfg(test)]
mod tests {
    use linux::shared_memory::{ObjectKind, SharedMemory};

    use super::load;
    use crate::layout::{SgaLayout, SgaSize};
    use crate::sga::Sga;

    #[test]
    fn neighbours_by_key_are_not_neighbours_in_memory() {
        let layout = SgaLayout::new(&SgaSize {
            sessions: 1,
            cache_bytes: 16 << 20,
            page_bytes: 4096,
            pools: 1,
        })
        .unwrap();
        let memory = SharedMemory::create(ObjectKind::Memfd, layout.bytes as usize, 4096).unwrap();
        let mapping = memory.map().unwrap();
        let sga = Sga::create(&mapping, layout);
        load(&sga, 1);
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
