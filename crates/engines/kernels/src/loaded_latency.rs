//! Measures latency while other CPUs load the memory: one chase, and streams that pause after every
//! block. The shorter the pause, the higher the load (Intel MLC injects load the same way).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use linux::Root;
use model::{MeasurementEvidence, StreamKernel};

use crate::Error;
use crate::bandwidth::{BYTES_PER_THREAD_MIN, StreamThread};
use crate::cell::{CellMeasurement, CellPlan, measure_cell_between};
use crate::contradictions::contradictions;
use crate::placed_memory::{PageChoice, PlacedMemory};
use crate::placed_thread::{Watch, bind_to, join};
use crate::simd::Simd;
use crate::stream::Stream;
use crate::timer::Timer;

/// Bytes of each array between two pauses; small, to make the load even.
const BLOCK_BYTES: usize = 4 << 10;

/// Pauses of a ladder, in iterations of an empty loop, from almost no load to the maximum that the
/// threads can generate. An iteration takes one or two cycles, a block without a pause about 100
/// ns.
pub const DELAYS: [u32; 10] = [20_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120, 60, 0];

/// How to measure latency under load, once: one rung of a ladder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedPlan {
    /// The chase.
    pub chase: CellPlan,
    /// The threads that generate the load; none of them on the CPU of the chase.
    pub load: Vec<StreamThread>,
    /// The kernel that they run.
    pub kernel: StreamKernel,
    /// The instruction set, which must be able to run the kernel.
    pub simd: Simd,
    /// Memory per thread.
    pub bytes_per_thread: usize,
    /// Page kind of the load's memory.
    pub pages: PageChoice,
    /// Iterations of an empty loop after every block.
    pub delay: u32,
}

/// Result of one rung.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedMeasurement {
    /// The chase, with its evidence.
    pub chase: CellMeasurement,
    /// Bytes per second that the load moved between the start of the chase's first window and the
    /// end of its last.
    pub load_bytes_per_s: f64,
    /// What the kernel reports about each thread of the load: its memory and where it ran.
    pub load_evidence: Vec<MeasurementEvidence>,
    /// How any evidence contradicts the plan; a measurement with any contradiction is invalid.
    pub contradictions: Vec<String>,
}

/// Progress of one thread of the load, on a separate cache line (two, because of the prefetcher
/// that fetches pairs).
#[repr(align(128))]
struct Progress {
    bytes: AtomicU64,
    is_running: AtomicBool,
}

/// Measures one rung once. The load starts before the chase and runs until it has ended.
///
/// # Errors
/// When memory cannot be allocated, a CPU cannot be used, or evidence cannot be read.
///
/// # Panics
/// When the instructions cannot run the kernel, or a thread has too little memory.
pub fn measure_loaded(
    plan: &LoadedPlan,
    timer: &Timer,
    root: &Root,
) -> Result<LoadedMeasurement, Error> {
    assert!(
        plan.simd.can_run(plan.kernel),
        "the instructions fit the kernel"
    );
    assert!(
        plan.load.is_empty() || plan.bytes_per_thread >= BYTES_PER_THREAD_MIN,
        "the arrays of a thread have room for a block each"
    );
    let is_over = AtomicBool::new(false);
    let new_progress = |_: &StreamThread| Progress {
        bytes: AtomicU64::new(0),
        is_running: AtomicBool::new(false),
    };
    let progress: Vec<Progress> = plan.load.iter().map(new_progress).collect();
    thread::scope(|scope| {
        let is_over = &is_over;
        let mut running = Vec::with_capacity(plan.load.len());
        for (thread, progress) in plan.load.iter().zip(&progress) {
            let work = move || load_on(plan, thread, progress, is_over, root);
            running.push((thread.cpu, scope.spawn(work)));
        }
        wait_until_running(&progress, &running);
        let mut edges = Vec::with_capacity(2);
        let chase = measure_cell_between(&plan.chase, timer, root, || {
            edges.push((timer.now(), bytes_of(&progress)));
        });
        is_over.store(true, Ordering::Relaxed);
        let mut load_evidence = Vec::with_capacity(running.len());
        let mut found = Vec::new();
        for ((cpu, thread), planned) in running.into_iter().zip(&plan.load) {
            let evidence = join(cpu, thread)?;
            found.extend(contradictions(planned.cpu, &planned.nodes, &evidence));
            load_evidence.push(evidence);
        }
        let chase = chase?;
        found.extend(chase.contradictions.clone());
        Ok(LoadedMeasurement {
            load_bytes_per_s: bytes_per_s(&edges, timer),
            chase,
            load_evidence,
            contradictions: found,
        })
    })
}

/// Returns the rate between the first and the last edge: pairs of a time in ticks and bytes so far.
fn bytes_per_s(edges: &[(u64, u64)], timer: &Timer) -> f64 {
    let (Some((begin, before)), Some((end, after))) = (edges.first(), edges.last()) else {
        return 0.0;
    };
    let seconds = timer.ns_between(*begin, *end) / 1e9;
    if seconds > 0.0 {
        (after - before) as f64 / seconds
    } else {
        0.0
    }
}

fn bytes_of(progress: &[Progress]) -> u64 {
    let bytes = progress.iter().map(|thread| &thread.bytes);
    bytes.map(|bytes| bytes.load(Ordering::Relaxed)).sum()
}

/// Waits until every thread of the load runs or has given up.
fn wait_until_running<T>(
    progress: &[Progress],
    running: &[(model::CpuId, thread::ScopedJoinHandle<'_, T>)],
) {
    for (progress, (_, thread)) in progress.iter().zip(running) {
        while !progress.is_running.load(Ordering::Acquire) && !thread.is_finished() {
            thread::yield_now();
        }
    }
}

/// Runs one thread of the load.
fn load_on(
    plan: &LoadedPlan,
    thread: &StreamThread,
    progress: &Progress,
    is_over: &AtomicBool,
    root: &Root,
) -> Result<MeasurementEvidence, Error> {
    bind_to(thread.cpu)?;
    let mut memory = PlacedMemory::make(root, plan.bytes_per_thread, &thread.nodes, plan.pages)?;
    let address = memory.address();
    let stream = Stream::with_chunk(memory.words_mut(), plan.kernel, plan.simd, BLOCK_BYTES);
    let mut stream = stream.expect("a thread of the load has room for a block of each array");
    stream.warm_up();
    let mut watch = Watch::begin(root, address)?;
    let block_bytes = stream.bytes_per_chunk();
    progress.is_running.store(true, Ordering::Release);
    while !is_over.load(Ordering::Relaxed) {
        std::hint::black_box(stream.chunk());
        progress.bytes.fetch_add(block_bytes, Ordering::Relaxed);
        for iteration in 0..plan.delay {
            std::hint::black_box(iteration);
        }
    }
    watch.look();
    watch.end()
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::{CpuSet, NodeId, StreamKernel};
    use testing::{Need, not_run};

    use super::{LoadedPlan, measure_loaded};
    use crate::bandwidth::{BYTES_PER_THREAD_MIN, StreamThread};
    use crate::cell::{CellPlan, WarmUp};
    use crate::placed_memory::{MemoryNodes, PageChoice};
    use crate::simd::Simd;
    use crate::timer::Timer;

    #[test]
    fn latency_and_load_are_measured_together() {
        let cpus = linux::affinity::of_this_thread().unwrap();
        let (chase_cpu, load_cpu) = (cpus.last().unwrap(), cpus.first().unwrap());
        if chase_cpu == load_cpu {
            let why = "this process may use one CPU only";
            return not_run(
                "latency_and_load_are_measured_together",
                Need::Hardware,
                why,
            );
        }
        let nodes = MemoryNodes::Bind(NodeId(0));
        let plan = LoadedPlan {
            chase: CellPlan {
                cpu: chase_cpu,
                nodes: nodes.clone(),
                home_cpu: chase_cpu,
                awake_cpus: CpuSet::new(),
                pages: PageChoice::Largest,
                working_set_bytes: 64 << 10,
                by_tlb_groups: true,
                warm_up: WarmUp::Lap,
                windows: 3,
                window_ns: 30_000_000,
                seed: 1,
                stream: 0,
            },
            load: vec![StreamThread {
                cpu: load_cpu,
                nodes,
            }],
            kernel: StreamKernel::Read,
            simd: Simd::best(),
            bytes_per_thread: BYTES_PER_THREAD_MIN,
            pages: PageChoice::Largest,
            delay: 100,
        };
        // On a busy machine the load may not be scheduled while the chase runs; repeat until it is.
        let has_load = (0..100).any(|_| {
            let measured = measure_loaded(&plan, &Timer::for_tests(), &Root::live()).unwrap();
            assert_eq!(measured.contradictions, Vec::<String>::new());
            assert_eq!(measured.load_evidence.len(), 1);
            measured.load_bytes_per_s > 0.0
        });
        assert!(has_load);
        let unloaded = LoadedPlan {
            load: Vec::new(),
            ..plan
        };
        let measured = measure_loaded(&unloaded, &Timer::for_tests(), &Root::live()).unwrap();
        assert_eq!(measured.load_bytes_per_s, 0.0);
    }
}
