//! Kernels: loops that measure memory, and the procedures that place, run and verify them. For an
//! overview see docs/latency.md.

mod awake;
mod bandwidth;
mod cache_line;
mod cache_share;
mod cell;
mod chase;
mod contradictions;
mod cpu_choice;
mod curve;
mod cycle;
mod error;
mod loaded_latency;
mod placed_memory;
mod placed_thread;
mod simd;
mod simd_choice;
mod start_line;
mod stream;
#[cfg(target_arch = "x86_64")]
mod stream_avx2;
#[cfg(target_arch = "x86_64")]
mod stream_avx512;
#[cfg(target_arch = "aarch64")]
mod stream_neon;
mod stream_path;
#[cfg(target_arch = "x86_64")]
mod stream_sse2;
mod summary;
mod tick_counter;
mod timer;
mod transfer;
mod working_set;

pub use bandwidth::{
    BYTES_PER_THREAD_MIN, BandwidthMeasurement, BandwidthPlan, BandwidthWindow, OVERLAP_MIN,
    StreamThread, knee_threads, measure_bandwidth,
};
pub use cache_line::{CAN_FLUSH, LINE_BYTES};
pub use cache_share::{CacheShare, CacheSharePlan, CacheSweep, measure_cache_share};
pub use cell::{
    CellMeasurement, CellPlan, WINDOW_NS, WINDOWS, WORKING_SET_BYTES_MIN, WarmUp, measure_cell,
    memory_working_set_bytes,
};
pub use chase::ChaseWindow;
pub use contradictions::contradictions;
pub use cpu_choice::{cpus_of_cores, cpus_to_keep_awake, measuring_cpu};
pub use curve::{CurveMeasurement, CurvePlan, measure_curve};
pub use error::Error;
pub use loaded_latency::{DELAYS, LoadedMeasurement, LoadedPlan, measure_loaded};
pub use placed_memory::{MemoryAddress, MemoryNodes, PageChoice, PlacedMemory};
pub use simd::Simd;
pub use simd_choice::fastest_simd;
pub use stream::{CHUNK_BYTES, Stream, StreamWindow};
pub use summary::{BETWEEN_RUNS_SHARE, CONFIDENCE, cell_of_rounds};
pub use timer::Timer;
pub use transfer::{TransferMeasurement, TransferPlan, measure_transfer};
pub use working_set::{FoundWorkingSet, find_working_set};
