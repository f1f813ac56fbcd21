//! Measures the depth curve: latency by working set, from a few lines to beyond the last cache.

use linux::Root;
use model::{CpuId, CurvePoint, MeasurementEvidence};

use crate::Error;
use crate::cache_line::LINE_BYTES;
use crate::cell::WORKING_SET_BYTES_MIN;
use crate::chase::{ACCESSES_TO_CALIBRATE, ACCESSES_UNTIMED, CHAINS_MAX, Chase};
use crate::contradictions::contradictions;
use crate::cycle::{Cycle, CycleOrder, STRIDE_BYTES, TLB_GROUP_PAGES};
use crate::placed_memory::{MemoryNodes, PageChoice, PlacedMemory};
use crate::placed_thread::{Watch, on_cpu};
use crate::timer::Timer;

/// The smallest working set: four strides.
pub(crate) const CURVE_BYTES_MIN: u64 = 1 << 10;

/// Approximate length of a window, ns. Well below the time slice of a scheduler (3 ms on Linux): on
/// a busy machine most windows are not interrupted, and their median reflects memory.
const WINDOW_NS: f64 = 400_000.0;

/// Minimum number of windows timed at each point. Seven at 70 points take 0.2 s.
const WINDOWS_MIN: u64 = 7;

/// Maximum number of windows timed at each point.
const WINDOWS_MAX: u64 = 101;

/// Accesses timed at each point whose lap is longer: 40 ms at 130 ns.
const ACCESSES_MAX: u64 = 300_000;

/// How to measure a curve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurvePlan {
    /// The CPU that measures.
    pub cpu: CpuId,
    /// Nodes of the memory.
    pub nodes: MemoryNodes,
    /// The CPU that allocates and populates the memory.
    pub home_cpu: CpuId,
    /// Page kind.
    pub pages: PageChoice,
    /// The largest working set.
    pub bytes_max: u64,
    /// The last-level cache as reported by the kernel: points are dense up to beyond it.
    pub last_cache_bytes: Option<u64>,
    /// Seed of the orders; each point uses a separate stream.
    pub seed: u64,
}

/// A measured curve.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveMeasurement {
    /// By ascending working set.
    pub points: Vec<CurvePoint>,
    /// All windows of each point: latency of one access in ns, in the order timed.
    pub samples_ns: Vec<Vec<f64>>,
    /// Where the chases ended, combined into one number.
    pub checksum: u64,
    /// What the kernel reports about memory and thread.
    pub evidence: MeasurementEvidence,
    /// How the evidence contradicts the plan; a curve with any contradiction is invalid.
    pub contradictions: Vec<String>,
}

/// Measures a curve once, in memory allocated once. Up to beyond the last-level cache, every point
/// starts with one untimed lap, and its windows time the following accesses. Further out, the
/// windows time only lines that have not been accessed since they were written.
///
/// # Errors
/// When the memory cannot be allocated, a CPU cannot be used, or evidence cannot be read.
pub fn measure_curve(
    plan: &CurvePlan,
    timer: &Timer,
    root: &Root,
) -> Result<CurveMeasurement, Error> {
    let bytes_max = plan.bytes_max.max(CURVE_BYTES_MIN) as usize;
    let mut memory = on_cpu(plan.home_cpu, || {
        PlacedMemory::make(root, bytes_max, &plan.nodes, plan.pages)
    })?;
    let group_bytes = memory.page_bytes() as usize * TLB_GROUP_PAGES as usize;
    let sizes = working_sets(plan.bytes_max, plan.last_cache_bytes);
    let whole_laps_to = whole_laps_to(plan.last_cache_bytes);
    on_cpu(plan.cpu, || {
        let mut watch = Watch::begin(root, memory.address())?;
        let mut points = Vec::with_capacity(sizes.len());
        let mut samples_ns = Vec::with_capacity(sizes.len());
        let mut checksum = 0;
        for (stream, bytes) in sizes.iter().enumerate() {
            let order = CycleOrder {
                group_bytes: Some(group_bytes),
                seed: plan.seed,
                stream: stream as u64,
                chains: match *bytes >= WORKING_SET_BYTES_MIN {
                    true => CHAINS_MAX,
                    false => 1,
                },
            };
            let words = &mut memory.words_mut()[..*bytes as usize / size_of::<u64>()];
            let cycle = Cycle::build(words, order);
            let mut chase = Chase::new(&cycle);
            let samples = time_point(&mut chase, &cycle, *bytes <= whole_laps_to, timer);
            checksum = u64::rotate_left(checksum, 5) ^ chase.checksum();
            points.push(point(*bytes, &samples));
            samples_ns.push(samples);
            watch.look();
        }
        let evidence = watch.end()?;
        Ok(CurveMeasurement {
            contradictions: contradictions(plan.cpu, &plan.nodes, &evidence),
            points,
            samples_ns,
            checksum,
            evidence,
        })
    })
}

/// Times the windows of one point, ns per access.
fn time_point(
    chase: &mut Chase<'_, '_>,
    cycle: &Cycle<'_>,
    whole_lap: bool,
    timer: &Timer,
) -> Vec<f64> {
    let lap = cycle.lines() as u64;
    let first = match whole_lap {
        true => {
            chase.lap(timer);
            chase.time(ACCESSES_TO_CALIBRATE, timer)
        }
        false => chase.time(ACCESSES_UNTIMED, timer),
    };
    let accesses = (WINDOW_NS / first.ns_per_access()).max(1.0) as u64;
    let windows = (lap.min(ACCESSES_MAX) / accesses).clamp(WINDOWS_MIN, WINDOWS_MAX);
    (0..windows)
        .map(|_| chase.time(accesses, timer).ns_per_access())
        .collect()
}

fn point(bytes: u64, samples: &[f64]) -> CurvePoint {
    CurvePoint {
        bytes,
        ns: stats::median(samples).expect("windows take time"),
        ns_min: samples.iter().copied().fold(f64::INFINITY, f64::min),
        ns_max: samples.iter().copied().fold(0.0, f64::max),
    }
}

/// Returns the largest working set that gets a whole untimed lap. A lap of a working set that
/// measures memory alone would take seconds.
fn whole_laps_to(last_cache_bytes: Option<u64>) -> u64 {
    last_cache_bytes
        .map_or(DENSE_BYTES_DEFAULT, |bytes| bytes.saturating_mul(2))
        .max(DENSE_BYTES_MIN)
}

/// Limit of dense points when the kernel reports no caches. All known caches of one CPU are
/// smaller, except some with stacked memory.
const DENSE_BYTES_DEFAULT: u64 = 128 << 20;

/// Points are dense at least up to this size.
const DENSE_BYTES_MIN: u64 = 16 << 20;

/// Returns the working sets: four per octave up to twice the last-level cache, one per octave
/// beyond. Each is a whole number of strides.
pub(crate) fn working_sets(bytes_max: u64, last_cache_bytes: Option<u64>) -> Vec<u64> {
    /// Steps of an octave in 64ths, as close to the fourth root of 2 as strides permit.
    const STEPS: [u64; 4] = [64, 76, 91, 108];
    let dense_to = whole_laps_to(last_cache_bytes);
    let mut sizes = Vec::new();
    let mut octave = CURVE_BYTES_MIN;
    while octave <= bytes_max {
        let steps = if octave < dense_to {
            &STEPS[..]
        } else {
            &STEPS[..1]
        };
        let of_octave = steps.iter().map(|step| octave / 64 * step);
        sizes.extend(of_octave.map(|bytes| bytes - bytes % STRIDE_BYTES as u64));
        let Some(next) = octave.checked_mul(2) else {
            break;
        };
        octave = next;
    }
    sizes.dedup();
    sizes.retain(|bytes| *bytes <= bytes_max);
    sizes
}

const _: () = assert!(CURVE_BYTES_MIN as usize >= LINE_BYTES);

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::NodeId;
    use proptest::prelude::*;

    use super::{CurvePlan, STRIDE_BYTES, measure_curve, working_sets};
    use crate::placed_memory::{MemoryNodes, PageChoice};
    use crate::timer::Timer;

    #[test]
    fn a_small_curve_has_a_point_for_every_working_set() {
        let cpu = linux::affinity::of_this_thread().unwrap().last().unwrap();
        let plan = CurvePlan {
            cpu,
            nodes: MemoryNodes::Bind(NodeId(0)),
            home_cpu: cpu,
            pages: PageChoice::Largest,
            bytes_max: 64 << 10,
            last_cache_bytes: None,
            seed: 7,
        };
        let curve = measure_curve(&plan, &Timer::for_tests(), &Root::live()).unwrap();
        assert_eq!(curve.contradictions, Vec::<String>::new());
        let sizes: Vec<u64> = curve.points.iter().map(|point| point.bytes).collect();
        assert_eq!(sizes, working_sets(64 << 10, None));
        for (point, samples) in curve.points.iter().zip(&curve.samples_ns) {
            assert!(0.0 < point.ns_min && point.ns_min <= point.ns && point.ns <= point.ns_max);
            assert!(samples.len() >= 7);
        }
    }

    #[test]
    fn working_sets_are_dense_up_to_the_caches_and_sparse_beyond() {
        let sizes = working_sets(1 << 30, Some(32 << 20));
        assert_eq!(sizes[..6], [1024, 1280, 1536, 2048, 2304, 2816]);
        assert_eq!(
            sizes[sizes.len() - 5..],
            [64 << 20, 128 << 20, 256 << 20, 512 << 20, 1 << 30]
        );
        assert!(sizes.len() < 80, "{}", sizes.len());
    }

    proptest! {
        #[test]
        fn working_sets_ascend_in_whole_strides(bytes_max in 0u64..1 << 50, cache: Option<u64>) {
            let sizes = working_sets(bytes_max, cache);
            prop_assert!(sizes.is_sorted_by(|a, b| a < b));
            prop_assert!(sizes.iter().all(|bytes| bytes.is_multiple_of(STRIDE_BYTES as u64)));
            prop_assert!(sizes.iter().all(|bytes| *bytes <= bytes_max));
        }
    }
}
