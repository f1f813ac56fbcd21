//! The `repr(C)` structures of the SGA, and the ids of blocks and processes. `sga_layout` computes
//! their offsets.
//!
//! docs/instance.md shows the same layout. Nothing here accesses memory.

use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::latch::Latch;
use crate::series::{Series, WINDOWS_MAX};

/// Bytes in a block.
pub const BLOCK_BYTES: u64 = 8192;
/// Words in a block.
pub(crate) const BLOCK_WORDS: usize = (BLOCK_BYTES / 8) as usize;
/// Maximum sessions per instance.
pub(crate) const SESSIONS_MAX: u32 = 8192;
/// Maximum blocks per cache: 16 TiB.
pub(crate) const BUFFERS_MAX: u64 = 1 << 31;
/// Maximum pools per cache: `MAX_NUMNODES` of the largest kernels (mm/Kconfig, `NODES_SHIFT`).
pub(crate) const POOLS_MAX: u32 = 1024;
/// Maximum page size; larger than on any architecture (16 GiB).
pub(crate) const PAGE_BYTES_MAX: u64 = 1 << 40;
/// Marks an SGA of numalab: "numalab\0".
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"numalab\0");
/// Version of this layout.
pub(crate) const LAYOUT_VERSION: u64 = 8;
/// No buffer, no block, no session.
pub(crate) const NONE: u32 = u32::MAX;
/// Words in a set of CPUs: 8192, the maximum that Linux can be built for.
pub(crate) const CPU_WORDS: usize = 128;
/// Buckets in a histogram of statement latency.
pub(crate) const HISTOGRAM_BUCKETS: usize = 512;

/// A separate cache line. 128 bytes, since x86-64 processors fetch lines in pairs.
#[repr(C, align(128))]
pub(crate) struct Line<T>(pub T);

/// Identity that an attaching session checks before it trusts anything else.
#[repr(C)]
pub(crate) struct Identity {
    pub magic: AtomicU64,
    pub version: AtomicU64,
    pub bytes: AtomicU64,
}

/// Barrier, stop flag, and instructions to running processes.
#[repr(C)]
pub(crate) struct Gate {
    /// Futex: 0 wait, 1 run.
    pub start: AtomicU32,
    /// 1: end at the next statement.
    pub stop: AtomicU32,
    /// Rows per statement.
    pub work_unit: AtomicU32,
    /// 1: the database writers write every dirty buffer, and end.
    pub checkpoint: AtomicU32,
}

/// The measured window, `CLOCK_MONOTONIC` in ns; `u64::MAX` until it is set.
#[repr(C)]
pub(crate) struct Window {
    pub start_ns: AtomicU64,
    pub end_ns: AtomicU64,
    /// Futex: number of series opened. Parked sessions go on when it changes.
    pub opened: AtomicU32,
    /// 1: sessions park at the end of a window instead of finishing.
    pub parks: AtomicU32,
}

/// Instance caging.
#[repr(C)]
pub(crate) struct CageState {
    /// Protects the other fields and the queue.
    pub latch: Latch,
    /// Sessions that may run at once; 0: no caging.
    pub cpu_count: AtomicU32,
    /// Sessions that are running.
    pub running: AtomicU32,
    /// Maximum number of sessions that ran at once.
    pub running_max: AtomicU32,
    /// Sessions queued, and sessions removed from the queue, since turns were last dealt.
    pub tail: AtomicU32,
    pub head: AtomicU32,
    /// 1 once turns are dealt before each window: sessions then do not queue to enter.
    pub dealt: AtomicU32,
}

/// State of the current parallel scan.
#[repr(C)]
pub(crate) struct ScanState {
    /// Futex: number of the scan; workers start when it changes.
    pub number: AtomicU32,
    /// Futex: workers that have finished their part of it.
    pub done: AtomicU32,
    /// One of [`ScanPhase`].
    pub phase: AtomicU32,
}

/// The action of workers when the number of the scan changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ScanPhase {
    /// Scan without accounting.
    WarmUp = 0,
    /// Scan; the first such scan starts the window.
    Measure = 1,
    /// Publish what was measured.
    Publish = 2,
}

/// Progress of the database writers of all pools.
#[repr(C)]
pub(crate) struct WritingState {
    /// Futex: incremented whenever buffers have become clean.
    pub cleaned: AtomicU32,
}

/// The first page of the SGA.
#[repr(C)]
pub(crate) struct Control {
    pub identity: Line<Identity>,
    pub gate: Line<Gate>,
    pub window: Line<Window>,
    pub series: Line<Series>,
    pub cage: Line<CageState>,
    pub scan: Line<ScanState>,
    pub writing: Line<WritingState>,
}

/// Counters of one session, read by the instance while the session runs.
#[repr(C)]
pub(crate) struct LiveCounters {
    /// Logical reads, or the work of the session's load.
    pub work: AtomicU64,
    pub statements: AtomicU64,
    /// One of [`SessionState`].
    pub state: AtomicU32,
    /// Series of windows that have ended and been published.
    pub windows: AtomicU32,
    /// Updates of rows since the start, and the sum of the keys of those rows, modulo 2^64.
    pub updates: AtomicU64,
    pub updated_keys: AtomicU64,
}

/// Counters of one database writer, read by the instance while it runs.
#[repr(C)]
pub(crate) struct WriterCounters {
    /// Blocks written to the data file.
    pub blocks_written: AtomicU64,
    /// CPU time.
    pub cpu_ns: AtomicU64,
}

/// State of a session, as stored in [`LiveCounters::state`]; 0 while it attaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SessionState {
    /// Waiting at the barrier.
    Ready = 1,
    /// Executing statements.
    Running = 2,
    /// Its window has ended and its results are published.
    Finished = 3,
}

/// Number of a named wait in [`SessionResult::waits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum WaitEvent {
    /// `resmgr:cpu quantum`.
    CpuQuantum = 0,
    /// `latch: cache buffers chains`.
    BucketLatch = 1,
    /// `db file sequential read`.
    SequentialRead = 2,
    /// `read by other session`.
    ReadByOther = 3,
    /// `db file scattered read`.
    ScatteredRead = 4,
    /// `PX Deq: Execution Msg`.
    ForWork = 5,
    /// `free buffer waits`.
    FreeBuffer = 6,
    /// `buffer busy waits`.
    BufferBusy = 7,
}

/// Number of named waits.
pub(crate) const WAIT_EVENTS: usize = 8;

/// The names of the events, in the order of their numbers.
pub(crate) const WAIT_NAMES: [&str; WAIT_EVENTS] = [
    model::WAIT_CPU_QUANTUM,
    model::WAIT_BUCKET_LATCH,
    model::WAIT_SEQUENTIAL_READ,
    model::WAIT_READ_BY_OTHER,
    model::WAIT_SCATTERED_READ,
    model::WAIT_FOR_WORK,
    model::WAIT_FREE_BUFFER,
    model::WAIT_BUFFER_BUSY,
];

/// Count and time of one wait event.
#[repr(C)]
pub(crate) struct WaitResult {
    pub count: AtomicU64,
    pub ns: AtomicU64,
}

/// Measurements of one session in its window, or summed over the windows of a series; published
/// before its state is `Finished`, or before it is parked until the next series.
#[repr(C)]
pub(crate) struct SessionResult {
    /// Length of its windows.
    pub ns: AtomicU64,
    /// Logical reads, or the work of the session's load.
    pub work: AtomicU64,
    pub logical_reads: AtomicU64,
    pub physical_reads: AtomicU64,
    pub statements: AtomicU64,
    pub cpu_ns: AtomicU64,
    /// The part of `cpu_ns` spent in the kernel.
    pub kernel_cpu_ns: AtomicU64,
    pub run_queue_ns: AtomicU64,
    pub rows_verified: AtomicU64,
    pub rows_wrong: AtomicU64,
    pub rows_updated: AtomicU64,
    pub waits: [WaitResult; WAIT_EVENTS],
    pub cpus_used: [AtomicU64; CPU_WORDS],
    pub latency: [AtomicU64; HISTOGRAM_BUCKETS],
    pub latency_max_ns: AtomicU64,
    /// Time for which the session was parked, and CPU time that it used while parked.
    pub parked_ns: AtomicU64,
    pub parked_cpu_ns: AtomicU64,
    /// How often it was parked.
    pub parks: AtomicU64,
    /// CPU time that it has used in all, inside and outside of windows.
    pub cpu_ns_in_all: AtomicU64,
    /// Its work in each window of the series.
    pub work_of_windows: [AtomicU64; WINDOWS_MAX],
}

/// All data of one session or database writer.
#[repr(C, align(4096))]
pub(crate) struct SessionSlot {
    pub live: Line<LiveCounters>,
    /// Futex of the caging queue: not 0 when it is this session's turn.
    pub turn: Line<AtomicU32>,
    /// Why the session failed, as text that ends with a zero byte; all zeroes if it has not.
    pub failure: Line<[AtomicU64; FAILURE_WORDS]>,
    /// Result of a parallel worker in the current scan.
    pub found: Line<ScanResult>,
    /// Counters of a database writer.
    pub writer: Line<WriterCounters>,
    /// Where the session's own memory is mapped.
    pub own_memory: Line<MappedRange>,
    pub result: SessionResult,
}

/// A worker's part of one scan.
#[repr(C)]
pub(crate) struct ScanResult {
    /// Sum of the values, modulo 2^64.
    pub sum: AtomicU64,
    /// Blocks summed.
    pub blocks: AtomicU64,
}

/// An address range of a session; 0 bytes if there is none.
#[repr(C)]
pub(crate) struct MappedRange {
    pub address: AtomicU64,
    pub bytes: AtomicU64,
}

/// Words in the text of a failure.
pub(crate) const FAILURE_WORDS: usize = 64;

/// One pool of buffers.
#[repr(C)]
pub(crate) struct Pool {
    /// Number of buffers that the clock has passed since the start. Modulo the pool's buffers, it
    /// is the next buffer to examine.
    pub hand: Line<AtomicU64>,
    /// Number of the next granule of the current scan to hand out.
    pub granule: Line<AtomicU64>,
    /// State of writing.
    pub writing: Line<PoolWriting>,
}

/// State of writing one pool's dirty buffers.
#[repr(C)]
pub(crate) struct PoolWriting {
    /// Dirty buffers.
    pub dirty: AtomicU32,
    /// Futex: 1 asks the pool's writer to write.
    pub wanted: AtomicU32,
}

/// A bucket of the hash directory.
#[repr(C, align(8))]
pub(crate) struct Bucket {
    pub latch: Latch,
    pub first: AtomicU32,
}

/// A buffer header, apart from its block.
#[repr(C, align(64))]
pub(crate) struct BufferHeader {
    /// The block, or [`NO_BLOCK`].
    pub block_id: AtomicU64,
    pub pins: AtomicU32,
    pub next: AtomicU32,
    /// Futex: one of [`BufferState`].
    pub state: AtomicU32,
    /// Clock passes that the buffer survives.
    pub usage: AtomicU32,
    /// Held while the content is being changed or copied.
    pub content: Latch,
    /// Odd while the content is being changed.
    pub version: AtomicU32,
    /// 1: the content is newer than the data file.
    pub dirty: AtomicU32,
}

/// No block: the buffer is free, or the process that pins it is about to fill it.
pub(crate) const NO_BLOCK: u64 = u64::MAX;

/// State of a buffer that is in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum BufferState {
    /// Its block is being read from the data file.
    Reading = 0,
    /// It holds its block.
    Valid = 1,
    /// The block could not be read.
    Failed = 2,
}

/// A block, as atomic words, since any field may be read while another process writes it.
#[repr(C, align(4096))]
pub(crate) struct Block {
    pub words: [AtomicU64; BLOCK_WORDS],
}

#[cfg(test)]
impl Block {
    /// Creates a block of zeroes.
    pub(crate) fn zeroed() -> Box<Self> {
        Box::new(Block {
            words: [const { AtomicU64::new(0) }; BLOCK_WORDS],
        })
    }
}

const _: () = assert!(size_of::<Control>() <= 4096);
const _: () = assert!(size_of::<SessionSlot>() == 8192);
const _: () = assert!(size_of::<Pool>() == 384);
const _: () = assert!(size_of::<Bucket>() == 8);
const _: () = assert!(size_of::<BufferHeader>() == 64);
const _: () = assert!(size_of::<Block>() == 8192 && align_of::<Block>() == 4096);

/// Object number of the column; no table has it.
pub(crate) const COLUMN_OBJECT: u64 = 0xffff_fffe;

/// Id of a block: object number in the upper half, block number in the lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockId(pub u64);

impl BlockId {
    /// Returns the id of row block `number` of table `table`.
    pub fn row(table: u32, number: u32) -> Self {
        BlockId(u64::from(2 * table) << 32 | u64::from(number))
    }

    /// Returns the id of block `number` of the column that parallel scans sum.
    pub fn column(number: u32) -> Self {
        BlockId(COLUMN_OBJECT << 32 | u64::from(number))
    }

    /// Returns the id of block `number` of the index of table `table`.
    pub fn index(table: u32, number: u32) -> Self {
        BlockId(u64::from(2 * table + 1) << 32 | u64::from(number))
    }
}
