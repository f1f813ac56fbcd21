//! Where everything lies in the SGA: sizes, offsets and the `repr(C)` structures.
//!
//! docs/instance.md draws the same layout for people. Nothing here touches memory.

use std::sync::atomic::{AtomicU32, AtomicU64};

use model::SgaPlan;

use crate::Error;
use crate::latch::Latch;

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 8192;
/// Words of a block.
pub const BLOCK_WORDS: usize = (BLOCK_BYTES / 8) as usize;
/// The most sessions one instance can have.
pub const SESSIONS_MAX: u32 = 8192;
/// The most blocks one cache can have: 16 TiB of them.
pub const BUFFERS_MAX: u64 = 1 << 31;
/// Marks an SGA of ours: "numalab\0".
pub const MAGIC: u64 = u64::from_le_bytes(*b"numalab\0");
/// Version of this layout.
pub const LAYOUT_VERSION: u64 = 2;
/// No buffer, no block, no session.
pub const NONE: u32 = u32::MAX;
/// Words of a set of CPUs: 8192, the most Linux can be built for.
pub const CPU_WORDS: usize = 128;
/// Buckets of a statement latency histogram.
pub const HISTOGRAM_BUCKETS: usize = 512;

/// A cache line of its own. 128 bytes, since x86-64 processors fetch lines in pairs.
#[repr(C, align(128))]
pub struct Line<T>(pub T);

/// What an attaching session checks before it believes anything else.
#[repr(C)]
pub struct Identity {
    pub magic: AtomicU64,
    pub version: AtomicU64,
    pub bytes: AtomicU64,
}

/// Barrier, stop sign, and what sessions do meanwhile.
#[repr(C)]
pub struct Gate {
    /// Futex: 0 wait, 1 run.
    pub start: AtomicU32,
    /// 1: end at the next statement.
    pub stop: AtomicU32,
    /// Rows per statement.
    pub work_unit: AtomicU32,
}

/// The measured window, `CLOCK_MONOTONIC` in ns; `u64::MAX` until it is set.
#[repr(C)]
pub struct Window {
    pub start_ns: AtomicU64,
    pub end_ns: AtomicU64,
}

/// Instance caging.
#[repr(C)]
pub struct CageState {
    /// Protects the other fields and the queue.
    pub latch: Latch,
    /// Sessions that may run; 0 is no caging.
    pub cpu_count: AtomicU32,
    /// Sessions that run.
    pub running: AtomicU32,
    /// The most that ever ran at once.
    pub running_max: AtomicU32,
    /// Sessions ever queued, and ever taken from the queue.
    pub tail: AtomicU32,
    pub head: AtomicU32,
}

/// First page of the SGA.
#[repr(C)]
pub struct Control {
    pub identity: Line<Identity>,
    pub gate: Line<Gate>,
    pub window: Line<Window>,
    pub cage: Line<CageState>,
}

/// Counters of one session, read by the instance while the session runs.
#[repr(C)]
pub struct LiveCounters {
    pub logical_reads: AtomicU64,
    pub statements: AtomicU64,
    /// One of [`SessionState`].
    pub state: AtomicU32,
}

/// How far a session has come, as stored in [`LiveCounters::state`]; 0 while it attaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum SessionState {
    /// Waiting at the barrier.
    Ready = 1,
    /// Executing statements.
    Running = 2,
    /// Its window is over and its results are published.
    Finished = 3,
}

/// Number of a named wait in [`SessionResult::waits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum WaitEvent {
    /// `resmgr:cpu quantum`.
    CpuQuantum = 0,
    /// `latch: cache buffers chains`.
    BucketLatch = 1,
}

/// Number of named waits.
pub const WAIT_EVENTS: usize = 2;

/// Count and time of one wait event.
#[repr(C)]
pub struct WaitResult {
    pub count: AtomicU64,
    pub ns: AtomicU64,
}

/// What one session measured in its window, published before its state is `Finished`.
#[repr(C)]
pub struct SessionResult {
    pub start_ns: AtomicU64,
    pub end_ns: AtomicU64,
    pub logical_reads: AtomicU64,
    pub statements: AtomicU64,
    pub cpu_ns: AtomicU64,
    pub run_queue_ns: AtomicU64,
    pub rows_verified: AtomicU64,
    pub rows_wrong: AtomicU64,
    pub waits: [WaitResult; WAIT_EVENTS],
    pub cpus_used: [AtomicU64; CPU_WORDS],
    pub latency: [AtomicU64; HISTOGRAM_BUCKETS],
    pub latency_max_ns: AtomicU64,
}

/// Everything that belongs to one session.
#[repr(C, align(4096))]
pub struct SessionSlot {
    pub live: Line<LiveCounters>,
    /// Futex of the caging queue: 1 when it is this session's turn.
    pub turn: Line<AtomicU32>,
    pub result: SessionResult,
}

/// A bucket of the hash directory.
#[repr(C, align(8))]
pub struct Bucket {
    pub latch: Latch,
    pub first: AtomicU32,
}

/// A buffer header, apart from its block.
#[repr(C, align(64))]
pub struct BufferHeader {
    pub block_id: AtomicU64,
    pub pins: AtomicU32,
    pub next: AtomicU32,
}

/// A block. Words, since every field of it may be read while another process writes.
#[repr(C, align(4096))]
pub struct Block {
    pub words: [AtomicU64; BLOCK_WORDS],
}

const _: () = assert!(size_of::<Control>() <= 4096);
const _: () = assert!(size_of::<SessionSlot>() == 8192);
const _: () = assert!(size_of::<Bucket>() == 8);
const _: () = assert!(size_of::<BufferHeader>() == 64);
const _: () = assert!(size_of::<Block>() == 8192 && align_of::<Block>() == 4096);

/// Names a block: object number in the upper half, block number in the lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockId(pub u64);

impl BlockId {
    /// Row block `number` of table `table`.
    pub fn row(table: u32, number: u32) -> Self {
        BlockId(u64::from(2 * table) << 32 | u64::from(number))
    }

    /// Block `number` of the index of table `table`.
    pub fn index(table: u32, number: u32) -> Self {
        BlockId(u64::from(2 * table + 1) << 32 | u64::from(number))
    }
}

/// What an SGA is asked to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SgaSize {
    /// Sessions, each with a table of its own.
    pub sessions: u32,
    /// Bytes of blocks, over all pools.
    pub cache_bytes: u64,
    /// Size of a page.
    pub page_bytes: u64,
    /// Pools of buffers that must lie on whole pages of their own; one where nothing is split.
    pub pools: u32,
}

impl SgaSize {
    /// What a case asks for.
    pub fn of(sga: &SgaPlan, sessions: u32) -> Self {
        SgaSize {
            sessions,
            cache_bytes: sga.cache_bytes,
            page_bytes: sga.page_bytes,
            pools: sga.allocation.pool_nodes().len().max(1) as u32,
        }
    }

    /// Buffers of each pool: as many as fill whole pages, where there are several.
    fn buffers_per_pool(&self) -> u64 {
        let buffers = self.cache_bytes / BLOCK_BYTES / u64::from(self.pools);
        let unit = match self.pools {
            1 => 1,
            _ => (self.page_bytes / BLOCK_BYTES).max(1),
        };
        buffers / unit * unit
    }

    /// Tables in the pool that has most of them.
    fn tables_per_pool(&self) -> u64 {
        u64::from(self.sessions.div_ceil(self.pools))
    }

    /// The smallest cache that holds such an SGA.
    fn cache_bytes_min(&self) -> u64 {
        let pool = self.tables_per_pool() * BLOCKS_PER_TABLE_MIN * BLOCK_BYTES;
        let unit = match self.pools {
            1 => BLOCK_BYTES,
            _ => self.page_bytes.max(BLOCK_BYTES),
        };
        pool.next_multiple_of(unit) * u64::from(self.pools)
    }
}

/// A root, and a row or two.
const BLOCKS_PER_TABLE_MIN: u64 = 4;

/// How much of everything an SGA holds, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SgaLayout {
    /// Session slots.
    pub sessions: u32,
    /// Pools, each of as many buffers.
    pub pools: u32,
    /// Buffers, headers and blocks.
    pub buffers: u32,
    /// Hash buckets, a power of two.
    pub buckets: u32,
    /// Tables, each with its index.
    pub tables: u32,
    /// Rows and row blocks of each table.
    pub rows_per_table: u32,
    /// Offset of the blocks: whole pages where there are several pools.
    pub blocks_offset: u64,
    /// Bytes of the whole SGA, whole pages.
    pub bytes: u64,
}

impl SgaLayout {
    /// Lays out an SGA.
    ///
    /// # Errors
    /// [`Error::Layout`] when there are no sessions, too many, or too little cache for a table
    /// with its index per session.
    pub fn new(size: &SgaSize) -> Result<Self, Error> {
        let SgaSize {
            sessions,
            cache_bytes,
            pools,
            ..
        } = *size;
        if sessions == 0 || sessions > SESSIONS_MAX {
            return Err(Error::Layout(format!(
                "{sessions} sessions: 1 to {SESSIONS_MAX} can be"
            )));
        }
        let buffers = size.buffers_per_pool() * u64::from(pools);
        let blocks_per_table = size.buffers_per_pool() / size.tables_per_pool();
        if blocks_per_table < BLOCKS_PER_TABLE_MIN || buffers > BUFFERS_MAX {
            let in_pools = match pools {
                1 => String::new(),
                _ => format!(" in {pools} pools"),
            };
            return Err(Error::Layout(format!(
                "a cache of {cache_bytes} bytes for {sessions} sessions{in_pools}: {} to {} bytes \
                 can be",
                size.cache_bytes_min(),
                BUFFERS_MAX * BLOCK_BYTES
            )));
        }
        let mut layout = SgaLayout {
            sessions,
            pools,
            buffers: buffers as u32,
            buckets: (buffers as u32).next_power_of_two().saturating_mul(2),
            tables: sessions,
            rows_per_table: crate::btree::rows_that_fit(blocks_per_table as u32),
            blocks_offset: 0,
            bytes: 0,
        };
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

    /// Buffers of each pool.
    pub fn buffers_per_pool(&self) -> u32 {
        self.buffers / self.pools
    }

    /// The part of the SGA that pool `pool` is.
    pub fn pool_range(&self, pool: u32) -> std::ops::Range<usize> {
        let bytes = u64::from(self.buffers_per_pool()) * BLOCK_BYTES;
        let start = self.blocks_offset + u64::from(pool) * bytes;
        start as usize..(start + bytes) as usize
    }

    /// The pool that holds table `table`, and whose node its session runs on.
    pub fn home_pool(&self, table: u32) -> u32 {
        table % self.pools
    }

    /// The buffer with the first row block of table `table`; its index lies behind the rows.
    pub fn first_buffer(&self, table: u32) -> u32 {
        let blocks_per_table =
            self.rows_per_table + crate::btree::index_blocks(self.rows_per_table);
        self.home_pool(table) * self.buffers_per_pool() + table / self.pools * blocks_per_table
    }

    /// Offset of the ring of waiting sessions.
    pub fn queue_offset(&self) -> u64 {
        4096
    }

    /// Offset of the session slots.
    pub fn slots_offset(&self) -> u64 {
        (self.queue_offset() + u64::from(self.sessions) * 4).next_multiple_of(8192)
    }

    /// Offset of the hash directory.
    pub fn directory_offset(&self) -> u64 {
        self.slots_offset() + u64::from(self.sessions) * size_of::<SessionSlot>() as u64
    }

    /// Offset of the buffer headers.
    pub fn headers_offset(&self) -> u64 {
        (self.directory_offset() + u64::from(self.buckets) * 8).next_multiple_of(4096)
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, SgaLayout, SgaSize};

    fn size(sessions: u32, cache_bytes: u64, page_bytes: u64, pools: u32) -> SgaSize {
        SgaSize {
            sessions,
            cache_bytes,
            page_bytes,
            pools,
        }
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
        ] {
            let layout = SgaLayout::new(&size).unwrap();
            let parts = [
                layout.queue_offset() + 4 * u64::from(size.sessions),
                layout.slots_offset(),
                layout.directory_offset(),
                layout.headers_offset(),
                layout.headers_offset() + 64 * u64::from(layout.buffers),
                layout.blocks_offset,
                layout.blocks_offset + u64::from(layout.buffers) * BLOCK_BYTES,
                layout.bytes,
            ];
            assert!(parts.is_sorted(), "{parts:?}");
            assert!(layout.bytes.is_multiple_of(size.page_bytes));
            assert!(layout.buckets.is_power_of_two() && layout.buckets >= 2 * layout.buffers);
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
        ] {
            let error = SgaLayout::new(&size).unwrap_err();
            assert!(error.to_string().contains("can be"), "{error}");
        }
    }
}
