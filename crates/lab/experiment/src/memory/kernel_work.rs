//! The work of measuring kernels: a pointer chase, and threads that move bytes.

use model::{MemoryLatency, NodeId, StreamKernel, StreamThreadPlan, StreamWork};

use super::places::MemoryPlaces;

/// Windows of one round.
const WINDOWS: u32 = 9;
/// Length of a window: short enough that some are uninterrupted even on a busy machine.
const WINDOW_NS: u64 = 5_000_000;

/// How bandwidth is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BandwidthChoice {
    /// The kernel that the threads run.
    pub kernel: StreamKernel,
    /// The SIMD instructions for it.
    pub simd: String,
    /// Whether to also measure thread sweeps and the whole machine.
    pub is_whole: bool,
}

/// Plans the pointer chase from one node to another.
pub(crate) fn chase(places: &MemoryPlaces, from: NodeId, to: NodeId) -> MemoryLatency {
    let (windows, window_ns) = match places.emulated {
        true => (3, kernels::WINDOW_NS / 4),
        false => (kernels::WINDOWS, kernels::WINDOW_NS),
    };
    MemoryLatency {
        home_cpu: places.home_cpu(to, places.measuring[&from]),
        awake_cpus: places.awake.get(&from).cloned().unwrap_or_default(),
        page_kind: Some(places.page_kind),
        working_set_bytes: places.working_set_bytes,
        by_tlb_groups: true,
        first_visits: places.first_visits,
        windows,
        window_ns,
    }
}

/// Plans threads that move bytes.
pub(crate) fn stream_work(
    places: &MemoryPlaces,
    choice: &BandwidthChoice,
    threads: Vec<StreamThreadPlan>,
    bytes_per_thread: u64,
) -> StreamWork {
    StreamWork {
        kernel: choice.kernel,
        simd: choice.simd.clone(),
        threads,
        bytes_per_thread,
        page_kind: Some(places.page_kind),
        windows: if places.emulated { 1 } else { WINDOWS },
        window_ns: if places.emulated {
            WINDOW_NS / 5
        } else {
            WINDOW_NS
        },
    }
}
