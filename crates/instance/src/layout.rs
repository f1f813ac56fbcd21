//! Where everything lies in the SGA: sizes, offsets and the `repr(C)` structures.
//!
//! docs/instance.md draws the same layout for people. Nothing here touches memory.

use std::sync::atomic::{AtomicU32, AtomicU64};

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
pub const LAYOUT_VERSION: u64 = 1;
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

/// How much of everything an SGA holds, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SgaLayout {
    /// Session slots.
    pub sessions: u32,
    /// Buffers, headers and blocks.
    pub buffers: u32,
    /// Hash buckets, a power of two.
    pub buckets: u32,
    /// Tables, each with its index.
    pub tables: u32,
    /// Rows and row blocks of each table.
    pub rows_per_table: u32,
    /// Bytes of the whole SGA, whole pages.
    pub bytes: u64,
}

impl SgaLayout {
    /// Lays out an SGA whose blocks take `cache_bytes`, in pages of `page_bytes`.
    ///
    /// # Errors
    /// [`Error::Layout`] when there are no sessions, too many, or too little cache for a table
    /// with its index per session.
    pub fn new(sessions: u32, cache_bytes: u64, page_bytes: u64) -> Result<Self, Error> {
        if sessions == 0 || sessions > SESSIONS_MAX {
            return Err(Error::Layout(format!(
                "{sessions} sessions: 1 to {SESSIONS_MAX} can be"
            )));
        }
        let buffers = cache_bytes / BLOCK_BYTES;
        let blocks_per_table = buffers / u64::from(sessions);
        if blocks_per_table < 4 || buffers > BUFFERS_MAX {
            let blocks = u64::from(sessions) * 4;
            return Err(Error::Layout(format!(
                "a cache of {cache_bytes} bytes for {sessions} sessions: {} to {} bytes can be",
                blocks * BLOCK_BYTES,
                BUFFERS_MAX * BLOCK_BYTES
            )));
        }
        let rows_per_table = crate::btree::rows_that_fit(blocks_per_table as u32);
        let mut layout = SgaLayout {
            sessions,
            buffers: buffers as u32,
            buckets: (buffers as u32).next_power_of_two().saturating_mul(2),
            tables: sessions,
            rows_per_table,
            bytes: 0,
        };
        layout.bytes = layout.blocks_offset() + buffers * BLOCK_BYTES;
        layout.bytes = layout.bytes.next_multiple_of(page_bytes);
        Ok(layout)
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

    /// Offset of the blocks.
    pub fn blocks_offset(&self) -> u64 {
        (self.headers_offset() + u64::from(self.buffers) * 64).next_multiple_of(BLOCK_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, SgaLayout};

    #[test]
    fn parts_follow_each_other_and_fit() {
        for (sessions, cache, page) in [
            (1, 64 << 10, 4096),
            (3, 256 << 20, 4096),
            (9, 1 << 30, 2 << 20),
        ] {
            let layout = SgaLayout::new(sessions, cache, page).unwrap();
            let parts = [
                layout.queue_offset() + 4 * u64::from(sessions),
                layout.slots_offset(),
                layout.directory_offset(),
                layout.headers_offset(),
                layout.blocks_offset(),
                layout.blocks_offset() + u64::from(layout.buffers) * BLOCK_BYTES,
                layout.bytes,
            ];
            assert!(parts.is_sorted(), "{parts:?}");
            assert!(layout.bytes.is_multiple_of(page));
            assert!(layout.buckets.is_power_of_two() && layout.buckets >= 2 * layout.buffers);
        }
    }

    #[test]
    fn impossible_sizes_are_refused_with_what_can_be() {
        for (sessions, cache) in [
            (0, 1 << 30),
            (10_000, 1 << 30),
            (3, 8192 * 11),
            (1, 1 << 60),
        ] {
            let error = SgaLayout::new(sessions, cache, 4096).unwrap_err();
            assert!(error.to_string().contains("can be"), "{error}");
        }
    }
}
