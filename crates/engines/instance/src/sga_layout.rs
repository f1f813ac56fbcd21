//! Computes the sizes and offsets of the parts of an SGA: pure arithmetic.
//!
//! docs/instance.md shows the same layout.

use model::{LoadPlan, SgaPlan, counted};

use crate::Error;
use crate::layout::{
    BLOCK_BYTES, BUFFERS_MAX, BlockId, COLUMN_OBJECT, PAGE_BYTES_MAX, POOLS_MAX, Pool,
    SESSIONS_MAX, SessionSlot,
};
use crate::process_name::ProcessName;

/// The requested contents of an SGA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SgaSize {
    /// Sessions, each with a separate table.
    pub sessions: u32,
    /// Bytes of blocks in all pools.
    pub cache_bytes: u64,
    /// Size of a page.
    pub page_bytes: u64,
    /// Buffer pools; several pools each consist of whole pages, one pool covers all buffers.
    pub pools: u32,
    /// Bytes of all tables with their indexes, or of the column; `None`: as much as fits.
    pub data_bytes: Option<u64>,
    /// The kind of data.
    pub content: Content,
    /// Whether rows are updated, which requires a database writer for each pool.
    pub updates: bool,
}

/// The kind of data of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// A table with its index for each session.
    Tables,
    /// One column of numbers in consecutive blocks.
    Column,
}

impl SgaSize {
    /// Returns the size that a case requests.
    pub fn of(sga: &SgaPlan, load: &LoadPlan) -> Self {
        SgaSize {
            sessions: load.sessions,
            data_bytes: load.data_bytes,
            content: Content::Tables,
            updates: load.update_pct > 0,
            cache_bytes: sga.cache_bytes,
            page_bytes: sga.page_bytes,
            pools: sga.allocation.pool_nodes().len().max(1) as u32,
        }
    }

    /// Returns the buffers of each pool: with several pools, as many as fill whole pages.
    fn buffers_per_pool(&self) -> u64 {
        let buffers = self.cache_bytes / BLOCK_BYTES / u64::from(self.pools);
        let unit = match self.pools {
            1 => 1,
            _ => (self.page_bytes / BLOCK_BYTES).max(1),
        };
        buffers / unit * unit
    }

    /// Returns the tables in the pool with the most tables.
    fn tables_per_pool(&self) -> u64 {
        u64::from(self.sessions.div_ceil(self.pools))
    }

    /// Returns the blocks of each of `parts` equal parts of the data; `cached` blocks of a part
    /// fit.
    fn data_blocks_of(&self, parts: u32, cached: u64) -> Result<u32, Error> {
        let blocks = match self.data_bytes {
            None => cached,
            Some(bytes) => bytes / BLOCK_BYTES / u64::from(parts),
        };
        if (BLOCKS_PER_TABLE_MIN..=u64::from(u32::MAX / 2)).contains(&blocks) {
            return Ok(blocks as u32);
        }
        let least = BLOCKS_PER_TABLE_MIN * u64::from(parts) * BLOCK_BYTES;
        Err(Error::Layout(format!(
            "{} of data for each of {}: data must be at least {least} \
             bytes",
            counted(blocks, "block"),
            counted(parts, "session")
        )))
    }

    /// Returns the smallest cache that holds such an SGA.
    fn cache_bytes_min(&self) -> u64 {
        let pool = self.tables_per_pool() * BLOCKS_PER_TABLE_MIN * BLOCK_BYTES;
        let unit = match self.pools {
            1 => BLOCK_BYTES,
            _ => self.page_bytes.max(BLOCK_BYTES),
        };
        pool.next_multiple_of(unit) * u64::from(self.pools)
    }
}

/// Minimum blocks of a table: an index root and three rows.
const BLOCKS_PER_TABLE_MIN: u64 = 4;

/// Sizes and offsets of all parts of an SGA. Only [`SgaLayout::new`] makes one, and processes
/// exchange only the size from which to compute it: every part lies in the SGA, whatever a document
/// contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "SgaSize", into = "SgaSize")]
pub struct SgaLayout {
    /// The size it was computed from.
    size: SgaSize,
    /// Sessions, whose slots come first.
    pub(crate) sessions: u32,
    /// Database writers, whose slots follow: one per pool, or none.
    pub(crate) writers: u32,
    /// Pools, all with the same number of buffers.
    pub(crate) pools: u32,
    /// Buffers, each with a header and a block.
    pub(crate) buffers: u32,
    /// Hash buckets, a power of two.
    pub(crate) buckets: u32,
    /// Tables, each with its index.
    pub(crate) tables: u32,
    /// Rows and row blocks of each table; 0 without tables.
    pub(crate) rows_per_table: u32,
    /// Buffers available to each table; may be fewer or more than its blocks.
    pub(crate) buffers_per_table: u32,
    /// Blocks of the column; 0 with tables.
    pub(crate) column_blocks: u32,
    /// Offset of the blocks: whole pages if there are several pools.
    pub(crate) blocks_offset: u64,
    /// Bytes of the whole SGA, whole pages.
    pub(crate) bytes: u64,
}

impl SgaLayout {
    /// Computes the layout of an SGA.
    ///
    /// # Errors
    /// [`Error::Layout`] when there are no sessions or too many, too little cache for a table with
    /// its index per session, or a page size or number of pools that no kernel supports.
    pub fn new(size: &SgaSize) -> Result<Self, Error> {
        let SgaSize {
            sessions,
            cache_bytes,
            pools,
            ..
        } = *size;
        if sessions == 0 || sessions > SESSIONS_MAX {
            return Err(Error::Layout(format!(
                "{}: must be 1 to {SESSIONS_MAX}",
                counted(sessions, "session")
            )));
        }
        let page_bytes = size.page_bytes;
        if !page_bytes.is_power_of_two() || !(4096..=PAGE_BYTES_MAX).contains(&page_bytes) {
            return Err(Error::Layout(format!(
                "pages of {page_bytes} bytes: must be a power of two from 4096 to {PAGE_BYTES_MAX}"
            )));
        }
        if pools == 0 || pools > POOLS_MAX {
            return Err(Error::Layout(format!(
                "{}: must be 1 to {POOLS_MAX}",
                counted(pools, "pool")
            )));
        }
        let buffers = size.buffers_per_pool() * u64::from(pools);
        let blocks_per_table = size.buffers_per_pool() / size.tables_per_pool();
        if blocks_per_table < BLOCKS_PER_TABLE_MIN || buffers > BUFFERS_MAX {
            let in_pools = match pools {
                1 => String::new(),
                _ => format!(" in {}", counted(pools, "pool")),
            };
            return Err(Error::Layout(format!(
                "a cache of {cache_bytes} bytes for {}{in_pools}: must be {} to \
                 {} bytes",
                counted(sessions, "session"),
                size.cache_bytes_min(),
                BUFFERS_MAX * BLOCK_BYTES
            )));
        }
        let mut layout = SgaLayout {
            size: *size,
            sessions,
            writers: if size.updates { pools } else { 0 },
            pools,
            buffers: buffers as u32,
            // Two per buffer, as long as their number fits in 32 bits.
            buckets: (buffers as u32).next_power_of_two().min(1 << 30) * 2,
            tables: 0,
            rows_per_table: 0,
            buffers_per_table: blocks_per_table as u32,
            column_blocks: 0,
            blocks_offset: 0,
            bytes: 0,
        };
        match size.content {
            Content::Tables => {
                let blocks = size.data_blocks_of(sessions, blocks_per_table)?;
                layout.tables = sessions;
                layout.rows_per_table = crate::btree::rows_that_fit(blocks);
            }
            Content::Column => layout.column_blocks = size.data_blocks_of(1, buffers)?,
        }
        let alignment = match pools {
            1 => BLOCK_BYTES,
            _ => size.page_bytes.max(BLOCK_BYTES),
        };
        let headers_end = layout.headers_offset() + u64::from(layout.buffers) * 64;
        layout.blocks_offset = headers_end.next_multiple_of(alignment);
        layout.bytes = layout.blocks_offset + buffers * BLOCK_BYTES;
        layout.bytes = layout.bytes.next_multiple_of(size.page_bytes);
        Ok(layout)
    }

    /// Returns the bytes of the whole SGA, whole pages.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the rows of each table; 0 without tables.
    pub fn rows_per_table(&self) -> u32 {
        self.rows_per_table
    }

    /// Returns the buffers of each pool.
    pub(crate) fn buffers_per_pool(&self) -> u32 {
        self.buffers / self.pools
    }

    /// Returns the byte range of pool `pool` in the SGA.
    pub(crate) fn pool_range(&self, pool: u32) -> std::ops::Range<usize> {
        let bytes = u64::from(self.buffers_per_pool()) * BLOCK_BYTES;
        let start = self.blocks_offset + u64::from(pool) * bytes;
        start as usize..(start + bytes) as usize
    }

    /// Returns the pool that holds table `table`, and on whose node its session runs.
    pub(crate) fn home_pool(&self, table: u32) -> u32 {
        table % self.pools
    }

    /// Returns the blocks of each table and its index.
    pub(crate) fn blocks_per_table(&self) -> u32 {
        self.rows_per_table + crate::btree::index_blocks(self.rows_per_table)
    }

    /// Returns whether every block has a buffer, so that nothing is ever read from a data file.
    pub(crate) fn holds_everything(&self) -> bool {
        match self.column_blocks {
            0 => self.blocks_per_table() <= self.buffers_per_table,
            blocks => blocks <= self.buffers,
        }
    }

    /// Returns whether there is a data file: if there are more blocks than buffers, or blocks
    /// change.
    pub(crate) fn has_data_file(&self) -> bool {
        self.writers > 0 || !self.holds_everything()
    }

    /// Returns the pool that a buffer belongs to.
    pub fn pool_of(&self, buffer: u32) -> u32 {
        buffer / self.buffers_per_pool()
    }

    /// Returns the number of processes that have a slot: sessions, then database writers.
    pub fn processes(&self) -> u32 {
        self.sessions + self.writers
    }

    /// Returns the name of process `process`.
    pub fn name_of(&self, process: u32) -> ProcessName {
        match process.checked_sub(self.sessions) {
            None => ProcessName::Session(process),
            Some(writer) => ProcessName::Writer(writer),
        }
    }

    /// Returns the blocks of the column whose home is pool `pool`: one range of equal size per
    /// pool.
    pub(crate) fn column_stretch(&self, pool: u32) -> std::ops::Range<u32> {
        let each = self.column_blocks.div_ceil(self.pools);
        let end = |pool: u32| (pool * each).min(self.column_blocks);
        end(pool)..end(pool + 1)
    }

    /// Returns the first of the buffers that hold table `table` at the start.
    pub(crate) fn first_buffer(&self, table: u32) -> u32 {
        let each = self.buffers_per_table.min(self.blocks_per_table());
        self.home_pool(table) * self.buffers_per_pool() + table / self.pools * each
    }

    /// Returns the bytes of the data file.
    pub(crate) fn data_file_bytes(&self) -> u64 {
        let of_tables = u64::from(self.tables) * u64::from(self.blocks_per_table());
        (of_tables + u64::from(self.column_blocks)) * BLOCK_BYTES
    }

    /// Returns the offset of a block in the data file: the rows of a table, its index, the next
    /// table.
    pub(crate) fn file_position(&self, id: BlockId) -> u64 {
        let (object, number) = (id.0 >> 32, id.0 & 0xffff_ffff);
        if object == COLUMN_OBJECT {
            return number * BLOCK_BYTES;
        }
        let in_table = match object % 2 {
            0 => number,
            _ => u64::from(self.rows_per_table) + number,
        };
        (object / 2 * u64::from(self.blocks_per_table()) + in_table) * BLOCK_BYTES
    }

    /// Returns the table block at position `place` of the data file, counted in blocks.
    pub(crate) fn block_in_place(&self, place: u64) -> BlockId {
        let each = u64::from(self.blocks_per_table());
        let (table, number) = ((place / each) as u32, (place % each) as u32);
        match number.checked_sub(self.rows_per_table) {
            None => BlockId::row(table, number),
            Some(number) => BlockId::index(table, number),
        }
    }

    /// Returns the offset of the pools.
    pub(crate) fn pools_offset(&self) -> u64 {
        (self.queue_offset() + u64::from(self.sessions) * 4).next_multiple_of(128)
    }

    /// Returns the offset of the ring of waiting sessions.
    pub(crate) fn queue_offset(&self) -> u64 {
        4096
    }

    /// Returns the offset of the counters of blocks that each worker read from each pool.
    pub(crate) fn reads_offset(&self) -> u64 {
        let pools_end = self.pools_offset() + u64::from(self.pools) * size_of::<Pool>() as u64;
        pools_end.next_multiple_of(8)
    }

    /// Returns the number of these counters.
    pub(crate) fn reads_count(&self) -> u32 {
        self.sessions * self.pools
    }

    /// Returns the offset of the session slots.
    pub(crate) fn slots_offset(&self) -> u64 {
        (self.reads_offset() + u64::from(self.reads_count()) * 8).next_multiple_of(8192)
    }

    /// Returns the bytes before the directory: what belongs to the processes of one instance.
    pub(crate) fn own_part_bytes(&self) -> u64 {
        self.directory_offset()
    }

    /// Returns the offset of the hash directory.
    pub(crate) fn directory_offset(&self) -> u64 {
        self.slots_offset() + u64::from(self.processes()) * size_of::<SessionSlot>() as u64
    }

    /// Returns the offset of the buffer headers.
    pub(crate) fn headers_offset(&self) -> u64 {
        (self.directory_offset() + u64::from(self.buckets) * 8).next_multiple_of(4096)
    }
}

impl TryFrom<SgaSize> for SgaLayout {
    type Error = Error;

    fn try_from(size: SgaSize) -> Result<Self, Error> {
        SgaLayout::new(&size)
    }
}

impl From<SgaLayout> for SgaSize {
    fn from(layout: SgaLayout) -> Self {
        layout.size
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Content, SgaLayout, SgaSize};
    use crate::layout::{BLOCK_BYTES, BlockId, Pool, SessionSlot};

    fn size(sessions: u32, cache_bytes: u64, page_bytes: u64, pools: u32) -> SgaSize {
        SgaSize {
            sessions,
            cache_bytes,
            page_bytes,
            pools,
            data_bytes: None,
            content: Content::Tables,
            updates: false,
        }
    }

    /// Checks that every part lies after the previous one and inside the SGA.
    fn check_parts(layout: &SgaLayout) {
        let slots = u64::from(layout.processes()) * size_of::<SessionSlot>() as u64;
        let parts = [
            (0, 4096),
            (layout.queue_offset(), 4 * u64::from(layout.sessions)),
            (
                layout.pools_offset(),
                u64::from(layout.pools) * size_of::<Pool>() as u64,
            ),
            (layout.reads_offset(), 8 * u64::from(layout.reads_count())),
            (layout.slots_offset(), slots),
            (layout.directory_offset(), 8 * u64::from(layout.buckets)),
            (layout.headers_offset(), 64 * u64::from(layout.buffers)),
            (
                layout.blocks_offset,
                u64::from(layout.buffers) * BLOCK_BYTES,
            ),
            (layout.bytes, 0),
        ];
        for (part, next) in parts.iter().zip(&parts[1..]) {
            assert!(part.0 + part.1 <= next.0, "{layout:?}: {parts:?}");
        }
        assert!(layout.bytes.is_multiple_of(layout.size.page_bytes));
        assert!(layout.buckets.is_power_of_two() && layout.buckets >= layout.buffers);
    }

    #[test]
    fn parts_follow_each_other_and_fit() {
        for size in [
            size(1, 64 << 10, 4096, 1),
            size(3, 256 << 20, 4096, 1),
            size(9, 1 << 30, 2 << 20, 1),
            size(5, 64 << 20, 4096, 3),
            size(64, 1 << 30, 2 << 20, 32),
            size(2, 8 << 30, 1 << 30, 4),
            size(8192, 16 << 40, 1 << 30, 1024),
        ] {
            check_parts(&SgaLayout::new(&size).unwrap());
        }
    }

    /// Returns valid sizes, mixed with arbitrary numbers.
    fn any_size() -> impl Strategy<Value = SgaSize> {
        let number = |likely| prop_oneof![9 => likely, 1 => any::<u32>()];
        let power = |bits: std::ops::Range<u32>| {
            let likely = bits.prop_map(|bit| 1_u64 << bit);
            prop_oneof![9 => likely, 1 => any::<u64>()]
        };
        let cache_bytes = prop_oneof![9 => 1_u64 << 16..1 << 45, 1 => any::<u64>()];
        let content = prop_oneof![Just(Content::Tables), Just(Content::Column)];
        (
            number(0..200_u32),
            cache_bytes,
            power(12..31),
            number(0..40_u32),
            proptest::option::of(power(16..60)),
            content,
            any::<bool>(),
        )
            .prop_map(
                |(sessions, cache_bytes, page_bytes, pools, data_bytes, content, updates)| {
                    SgaSize {
                        sessions,
                        cache_bytes,
                        page_bytes,
                        pools,
                        data_bytes,
                        content,
                        updates,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn whatever_size_a_document_says_every_part_is_in_the_sga(size in any_size()) {
            let document = serde_json::to_string(&size).unwrap();
            match serde_json::from_str::<SgaLayout>(&document) {
                Ok(layout) => {
                    check_parts(&layout);
                    prop_assert_eq!(layout, SgaLayout::new(&size).unwrap());
                    prop_assert_eq!(serde_json::to_string(&layout).unwrap(), document);
                }
                Err(error) => prop_assert!(error.to_string().contains("must be"), "{error}"),
            }
        }
    }

    #[test]
    fn pools_are_whole_pages_and_hold_their_tables() {
        for size in [size(5, 64 << 20, 4096, 3), size(64, 1 << 30, 2 << 20, 32)] {
            let layout = SgaLayout::new(&size).unwrap();
            for pool in 0..layout.pools {
                let range = layout.pool_range(pool);
                let page = size.page_bytes as usize;
                assert!(range.start.is_multiple_of(page) && range.end.is_multiple_of(page));
            }
            assert!(layout.pool_range(layout.pools - 1).end as u64 <= layout.bytes);
            let blocks = layout.rows_per_table + crate::btree::index_blocks(layout.rows_per_table);
            for table in 0..layout.tables {
                let first = layout.first_buffer(table);
                let pool = first / layout.buffers_per_pool();
                assert_eq!(pool, layout.home_pool(table));
                assert_eq!((first + blocks - 1) / layout.buffers_per_pool(), pool);
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused_with_what_can_be() {
        for size in [
            size(0, 1 << 30, 4096, 1),
            size(10_000, 1 << 30, 4096, 1),
            size(3, 8192 * 11, 4096, 1),
            size(1, 1 << 60, 4096, 1),
            size(4, 3 << 30, 1 << 30, 4),
            size(1, 1 << 30, 0, 1),
            size(1, 1 << 30, 4097, 1),
            size(1, 1 << 30, 1 << 63, 2),
            size(1, 1 << 30, 4096, 0),
            size(1, 1 << 60, 4096, 1 << 20),
        ] {
            let error = SgaLayout::new(&size).unwrap_err();
            assert!(error.to_string().contains("must be"), "{error}");
        }
    }

    #[test]
    fn more_data_than_buffers_gives_every_block_a_place_in_the_file() {
        let size = SgaSize {
            data_bytes: Some(64 << 20),
            ..size(2, 16 << 20, 4096, 1)
        };
        let layout = SgaLayout::new(&size).unwrap();
        assert!(!layout.holds_everything());
        let mut places = std::collections::BTreeSet::new();
        for table in 0..2 {
            let rows = layout.rows_per_table;
            let ids = (0..rows).map(|number| BlockId::row(table, number));
            let index = 0..crate::btree::index_blocks(rows);
            let ids = ids.chain(index.map(|number| BlockId::index(table, number)));
            ids.for_each(|id| {
                let position = layout.file_position(id);
                assert_eq!(layout.block_in_place(position / BLOCK_BYTES), id);
                assert!(places.insert(position));
            });
        }
        let last = places.last().unwrap() + BLOCK_BYTES;
        assert_eq!(last, layout.data_file_bytes());
        assert!(last <= 64 << 20 && last > 63 << 20, "{last}");
        let whole = SgaLayout::new(&SgaSize {
            data_bytes: Some(8 << 20),
            ..size
        });
        assert!(whole.unwrap().holds_everything());
        let error = SgaLayout::new(&SgaSize {
            data_bytes: Some(1),
            ..size
        });
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("data must be at least")
        );
    }
}
