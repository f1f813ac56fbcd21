//! Measures bandwidth: threads on chosen CPUs, each with separate memory on chosen nodes, all at
//! the same time.

use std::thread;

use linux::Root;
use model::{CpuId, MeasurementEvidence, StreamKernel};

use crate::Error;
use crate::contradictions::contradictions;
use crate::placed_memory::{MemoryNodes, PageChoice, PlacedMemory};
use crate::placed_thread::{Watch, bind_to, join};
use crate::simd::Simd;
use crate::start_line::StartLine;
use crate::stream::{CHUNK_BYTES, Stream, StreamWindow};
use crate::timer::Timer;

/// Minimum overlap of the windows of all threads. Below it, some threads ran while others did not,
/// and the sum of their rates is not a bandwidth of the machine.
pub const OVERLAP_MIN: f64 = 0.95;

/// Minimum memory of one thread: room for one chunk of three arrays and the gaps between them.
pub const BYTES_PER_THREAD_MIN: usize = 4 * CHUNK_BYTES;

/// One thread of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamThread {
    /// The CPU it runs on.
    pub cpu: CpuId,
    /// Nodes of its memory.
    pub nodes: MemoryNodes,
}

/// How to measure bandwidth, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BandwidthPlan {
    /// The kernel that the threads run.
    pub kernel: StreamKernel,
    /// The instruction set, which must be able to run the kernel ([`Simd::can_run`]).
    pub simd: Simd,
    /// The threads.
    pub threads: Vec<StreamThread>,
    /// Memory per thread, all of its arrays together.
    pub bytes_per_thread: usize,
    /// Page kind.
    pub pages: PageChoice,
    /// Number of timed windows.
    pub windows: u32,
    /// Length of a window, ns.
    pub window_ns: u64,
}

/// One window of all threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandwidthWindow {
    /// Bytes that the threads moved.
    pub bytes: u64,
    /// Sum of the threads' rates, bytes per second.
    pub bytes_per_s: f64,
    /// Time during which all threads ran, as a share of the time from the first start to the last
    /// end.
    pub overlap: f64,
}

/// Result of one measurement of bandwidth.
#[derive(Debug, Clone, PartialEq)]
pub struct BandwidthMeasurement {
    /// The windows in the order they were timed, raw.
    pub windows: Vec<BandwidthWindow>,
    /// What the kernel reports about each thread: its memory and where it ran.
    pub evidence: Vec<MeasurementEvidence>,
    /// How the evidence contradicts the plan, and results that differ from those of plain loops; a
    /// measurement with any contradiction is invalid.
    pub contradictions: Vec<String>,
    /// Sum of the threads' checksums.
    pub checksum: u64,
}

impl BandwidthMeasurement {
    /// Returns the bytes per second of each window, including those whose
    /// overlap is below [`OVERLAP_MIN`].
    pub fn samples_bytes_per_s(&self) -> Vec<f64> {
        self.windows
            .iter()
            .map(|window| window.bytes_per_s)
            .collect()
    }
}

/// Result of one thread.
struct ThreadResult {
    windows: Vec<StreamWindow>,
    evidence: MeasurementEvidence,
    contradictions: Vec<String>,
}

/// Measures bandwidth once: every thread allocates and fills its memory, passes over it once
/// untimed, and then all threads time the same windows.
///
/// # Errors
/// When memory cannot be allocated, a CPU cannot be used, or evidence cannot be read.
///
/// # Panics
/// When there are no threads, their memory is below [`BYTES_PER_THREAD_MIN`], or this processor
/// cannot run the kernel with these instructions.
pub fn measure_bandwidth(
    plan: &BandwidthPlan,
    timer: &Timer,
    root: &Root,
) -> Result<BandwidthMeasurement, Error> {
    assert!(!plan.threads.is_empty(), "a thread has to move the bytes");
    assert!(
        plan.bytes_per_thread >= BYTES_PER_THREAD_MIN,
        "the arrays of a thread have room for a chunk each"
    );
    assert!(
        plan.simd.can_run(plan.kernel),
        "the instructions fit the kernel"
    );
    let line = StartLine::new(plan.threads.len());
    let results: Vec<ThreadResult> = thread::scope(|scope| {
        let line = &line;
        let mut running = Vec::with_capacity(plan.threads.len());
        for thread in &plan.threads {
            let work = move || stream_on(plan, thread, line, timer, root);
            // A thread that cannot be started would leave the others waiting forever; the panic of
            // the standard library is preferable.
            running.push((thread.cpu, scope.spawn(work)));
        }
        let results = running.into_iter().map(|(cpu, thread)| join(cpu, thread));
        results.collect::<Result<_, Error>>()
    })?;
    let windows = (0..plan.windows as usize).map(|number| {
        let of_threads: Vec<StreamWindow> = results
            .iter()
            .map(|result| result.windows[number])
            .collect();
        together(&of_threads, timer)
    });
    let checksums = results.iter().flat_map(|result| &result.windows);
    Ok(BandwidthMeasurement {
        windows: windows.collect(),
        checksum: checksums.fold(0, |sum, window| sum.wrapping_add(window.checksum)),
        contradictions: results
            .iter()
            .flat_map(|result| result.contradictions.clone())
            .collect(),
        evidence: results.into_iter().map(|result| result.evidence).collect(),
    })
}

/// Runs one thread. Everything that can fail comes before the first meeting or after the last, and
/// a thread that failed still attends every meeting.
fn stream_on(
    plan: &BandwidthPlan,
    thread: &StreamThread,
    line: &StartLine,
    timer: &Timer,
    root: &Root,
) -> Result<ThreadResult, Error> {
    let prepared = (|| {
        bind_to(thread.cpu)?;
        PlacedMemory::make(root, plan.bytes_per_thread, &thread.nodes, plan.pages)
    })();
    let mut memory = match prepared {
        Ok(memory) => memory,
        Err(error) => {
            for _ in 0..plan.windows {
                line.wait(timer);
            }
            return Err(error);
        }
    };
    let address = memory.address();
    let mut stream = Stream::new(memory.words_mut(), plan.kernel, plan.simd)
        .expect("the caller checked room and instructions");
    stream.warm_up();
    let mut watch = Watch::begin(root, address);
    let mut windows = Vec::with_capacity(plan.windows as usize);
    for _ in 0..plan.windows {
        let start = line.wait(timer);
        windows.push(stream.run(start + timer.ticks_of(plan.window_ns), timer));
        if let Ok(watch) = &mut watch {
            watch.look();
        }
    }
    let evidence = watch?.end()?;
    let mut found = contradictions(thread.cpu, &thread.nodes, &evidence);
    let is_expected =
        |window: &StreamWindow| window.checksum == stream.checksum_expected(window.bytes);
    if !stream.is_right() || !windows.iter().all(is_expected) {
        let (cpu, kernel) = (thread.cpu, plan.kernel.name());
        found.push(format!("CPU {cpu}: the result of {kernel} is wrong"));
    }
    Ok(ThreadResult {
        windows,
        evidence,
        contradictions: found,
    })
}

/// Combines the windows of all threads into one.
fn together(windows: &[StreamWindow], timer: &Timer) -> BandwidthWindow {
    let rate = |window: &StreamWindow| {
        let seconds = timer.ns_between(window.begin, window.end) / 1e9;
        if seconds > 0.0 {
            window.bytes as f64 / seconds
        } else {
            0.0
        }
    };
    let begins = windows.iter().map(|window| window.begin);
    let ends = windows.iter().map(|window| window.end);
    let first = begins.clone().min().unwrap_or(0);
    let last = ends.clone().max().unwrap_or(0);
    let any = timer.ns_between(first, last);
    let all = timer.ns_between(begins.max().unwrap_or(0), ends.min().unwrap_or(0));
    BandwidthWindow {
        bytes: windows.iter().map(|window| window.bytes).sum(),
        bytes_per_s: windows.iter().map(rate).sum(),
        overlap: if any > 0.0 { all / any } else { 0.0 },
    }
}

/// Returns the smallest number of threads that reaches `KNEE_SHARE` of the best bandwidth of a
/// sweep, given as pairs of threads and bytes per second.
pub fn knee_threads(points: &[(u32, f64)]) -> Option<u32> {
    let best = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let is_near = |(_, rate): &&(u32, f64)| *rate >= best * KNEE_SHARE;
    points
        .iter()
        .filter(is_near)
        .map(|(threads, _)| *threads)
        .min()
}

/// Share of the best bandwidth above which more threads add nothing worthwhile.
pub(crate) const KNEE_SHARE: f64 = 0.95;

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::{CpuId, NodeId, StreamKernel};

    use super::{BYTES_PER_THREAD_MIN, BandwidthPlan, StreamThread, knee_threads};
    use super::{measure_bandwidth, together};
    use crate::placed_memory::{MemoryNodes, PageChoice};
    use crate::simd::Simd;
    use crate::stream::StreamWindow;
    use crate::timer::Timer;

    fn plan(kernel: StreamKernel, cpus: &[CpuId]) -> BandwidthPlan {
        let nodes = MemoryNodes::Bind(NodeId(0));
        let thread = |cpu: &CpuId| StreamThread {
            cpu: *cpu,
            nodes: nodes.clone(),
        };
        BandwidthPlan {
            kernel,
            simd: Simd::best(),
            threads: cpus.iter().map(thread).collect(),
            bytes_per_thread: BYTES_PER_THREAD_MIN,
            pages: PageChoice::Largest,
            windows: 2,
            window_ns: 100_000,
        }
    }

    #[test]
    fn all_cpus_move_bytes_and_get_them_right() {
        let cpus: Vec<CpuId> = linux::affinity::of_this_thread().unwrap().iter().collect();
        let kernels = StreamKernel::TABLE.iter().map(|row| row.kernel);
        for kernel in kernels.filter(|kernel| Simd::best().can_run(*kernel)) {
            let plan = plan(kernel, &cpus[..cpus.len().min(4)]);
            let measured = measure_bandwidth(&plan, &Timer::for_tests(), &Root::live()).unwrap();
            assert_eq!(measured.contradictions, Vec::<String>::new());
            assert_eq!(measured.windows.len(), 2);
            assert_eq!(measured.evidence.len(), plan.threads.len());
            assert!(
                measured
                    .samples_bytes_per_s()
                    .iter()
                    .all(|rate| *rate > 0.0)
            );
        }
    }

    #[test]
    fn one_thread_that_cannot_run_is_an_error_and_no_deadlock() {
        let cpu = linux::affinity::of_this_thread().unwrap().first().unwrap();
        let plan = plan(StreamKernel::Read, &[cpu, CpuId(8000)]);
        let error = measure_bandwidth(&plan, &Timer::for_tests(), &Root::live()).unwrap_err();
        assert!(error.to_string().contains("CPUs 8000"), "{error}");
    }

    #[test]
    fn windows_are_added_up_with_what_they_have_in_common() {
        let window = |begin, end, bytes| StreamWindow {
            bytes,
            begin,
            end,
            checksum: 0,
        };
        let windows = [window(0, 1000, 500), window(100, 1100, 300)];
        let all = together(&windows, &Timer::for_tests());
        assert_eq!(all.bytes, 800);
        assert!((all.bytes_per_s / 0.8e9 - 1.0).abs() < 1e-9);
        assert!((all.overlap - 900.0 / 1100.0).abs() < 1e-9);
        let apart = [window(0, 10, 1), window(20, 30, 1)];
        assert_eq!(together(&apart, &Timer::for_tests()).overlap, 0.0);
    }

    #[test]
    fn the_knee_is_where_more_threads_bring_nothing() {
        let points = [(1, 10.0), (2, 19.0), (3, 24.0), (4, 25.0), (8, 23.0)];
        assert_eq!(knee_threads(&points), Some(3));
        assert_eq!(knee_threads(&[]), None);
        assert_eq!(knee_threads(&[(1, f64::NAN)]), None);
    }
}
