//! Finds the smallest working set at which latency no longer depends on it.
//!
//! A cache that holds C bytes serves at most C of the W bytes of a lap, so latency grows with W up
//! to that of memory. That latency is known at any W: flush all lines, and time some that nobody
//! has visited since. W is doubled until the latency after a lap is no lower than that.
//!
//! To double W until latency stays the same would not do: it also stays the same as long as all of
//! W fits into a cache.
//!
//! The working set is half as large again, because the comparison scatters by more than the share
//! of the lap that a cache may still serve. A cache of C bytes that evicts at random serves a share
//! h = exp(-(1 - h) W / C) of it: 2 % at W = 4 C, and 0.25 % at 6 C.

use linux::Root;
use model::{WorkingSet, WorkingSetPoint};

use crate::Error;
use crate::cache_line::CAN_FLUSH;
use crate::cell::{CellPlan, WORKING_SET_BYTES_MIN, WarmUp, measure_cell};
use crate::chase::ChaseWindow;
use crate::timer::Timer;

/// How much lower than the latency of uncached lines that after a lap may be, as a share.
pub(crate) const TOLERANCE: f64 = 0.01;

/// The smallest size. At half of it, a guest of a machine with 32 MiB of last-level cache may still
/// see one access in forty served by a cache, which is less than the ratio of seven memories
/// scatters by (docs/latency.md).
const SMALLEST_BYTES: u64 = 2 * WORKING_SET_BYTES_MIN;

/// Allocations in which both latencies are measured for one size. In one and the same, their ratio
/// scatters by some 2 % on a virtual machine with neighbours.
const MEMORIES: u32 = 7;

/// Ratio in the first memory of a size below which the others are not measured: caches serve far
/// too much of the lap.
const RATIO_FAR_BELOW: f64 = 0.9;

/// A working set with what it was found by.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundWorkingSet {
    /// The working set.
    pub working_set: WorkingSet,
    /// The last size that was tried, of which the times are, in bytes.
    pub tried_bytes: u64,
    /// Time to prepare a lap of it: to allocate, populate, lay and flush its memory, and to read
    /// where it is, seconds.
    pub prepare_s: f64,
    /// Time of a lap, seconds.
    pub lap_s: f64,
}

/// One memory in which both latencies were measured.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pair {
    ns: f64,
    uncached_ns: f64,
    prepare_s: f64,
    lap_s: f64,
}

/// Searches for the working set of a cell: from 256 MiB, or `bytes_max` if that is less, to
/// `bytes_max`, with fresh memory each time. `None` on processors whose caches cannot be flushed.
///
/// # Errors
/// When the memory cannot be allocated, a CPU cannot be used, or evidence cannot be read.
pub fn find_working_set(
    cell: &CellPlan,
    bytes_max: u64,
    timer: &Timer,
    root: &Root,
) -> Result<Option<FoundWorkingSet>, Error> {
    if !CAN_FLUSH {
        return Ok(None);
    }
    let compare = |bytes, stream| compare(cell, bytes, stream, timer, root);
    search(bytes_max, compare).map(Some)
}

/// Measures both latencies in one memory; `None` if the evidence contradicts the plan.
fn compare(
    cell: &CellPlan,
    bytes: u64,
    stream: u64,
    timer: &Timer,
    root: &Root,
) -> Result<Option<Pair>, Error> {
    let plan = CellPlan {
        working_set_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        warm_up: WarmUp::FirstVisitsThenLap,
        stream,
        ..cell.clone()
    };
    let begun_ns = linux::clock::monotonic_ns();
    let measured = measure_cell(&plan, timer, root)?;
    let elapsed_s = (linux::clock::monotonic_ns() - begun_ns) as f64 / 1e9;
    if !measured.contradictions.is_empty() {
        return Ok(None);
    }
    let windows = measured.windows.iter().chain(&measured.first_visits);
    let windows_s = windows.map(|window| window.elapsed_ns).sum::<f64>() / 1e9;
    let lap_s = measured.lap_ns / 1e9;
    let medians = median_ns(&measured.windows).zip(median_ns(&measured.first_visits));
    Ok(medians.map(|(ns, uncached_ns)| Pair {
        ns,
        uncached_ns,
        prepare_s: (elapsed_s - lap_s - windows_s).max(0.0),
        lap_s,
    }))
}

fn median_ns(windows: &[ChaseWindow]) -> Option<f64> {
    let windows = windows.iter().map(ChaseWindow::ns_per_access);
    stats::median(&windows.collect::<Vec<f64>>())
}

fn search(
    bytes_max: u64,
    mut compare: impl FnMut(u64, u64) -> Result<Option<Pair>, Error>,
) -> Result<FoundWorkingSet, Error> {
    let mut bytes = SMALLEST_BYTES.min(bytes_max);
    let mut points = Vec::new();
    let mut stream = 0;
    loop {
        let mut pairs: Vec<Pair> = Vec::new();
        for _ in 0..MEMORIES {
            pairs.extend(compare(bytes, stream)?);
            stream += 1;
            if matches!(pairs[..], [first] if first.ratio() < RATIO_FAR_BELOW) {
                break;
            }
        }
        let point = point(bytes, &pairs);
        points.extend(point);
        let is_beyond_caches = point.is_some_and(|point| point.ratio >= 1.0 - TOLERANCE);
        if is_beyond_caches || bytes >= bytes_max {
            let tried_bytes = bytes;
            if is_beyond_caches {
                bytes = (bytes + bytes / 2).min(bytes_max);
            }
            return Ok(FoundWorkingSet {
                tried_bytes,
                working_set: WorkingSet {
                    bytes,
                    bytes_max,
                    is_beyond_caches,
                    points,
                },
                prepare_s: median_of(&pairs, |pair| pair.prepare_s).unwrap_or(0.0),
                lap_s: median_of(&pairs, |pair| pair.lap_s).unwrap_or(0.0),
            });
        }
        bytes = bytes.saturating_mul(2).min(bytes_max);
    }
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.ns / self.uncached_ns
    }
}

fn point(bytes: u64, pairs: &[Pair]) -> Option<WorkingSetPoint> {
    Some(WorkingSetPoint {
        bytes,
        memories: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        ns: median_of(pairs, |pair| pair.ns)?,
        uncached_ns: median_of(pairs, |pair| pair.uncached_ns)?,
        ratio: median_of(pairs, Pair::ratio)?,
    })
}

fn median_of(pairs: &[Pair], of: impl Fn(&Pair) -> f64) -> Option<f64> {
    stats::median(&pairs.iter().map(of).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::{FoundWorkingSet, Pair, search};

    const MIB: u64 = 1 << 20;

    /// Searches on a machine whose cache holds `cache` bytes of a lap as if it evicted at random:
    /// 20 ns from the cache, 120 ns from memory.
    fn found(cache: u64, bytes_max: u64) -> FoundWorkingSet {
        let compare = |bytes: u64, _| {
            let held = cache as f64 / bytes as f64;
            let ns = 20.0 * held.min(1.0) + 120.0 * (1.0 - held).max(0.0);
            Ok(Some(Pair {
                ns,
                uncached_ns: 120.0,
                prepare_s: 0.1,
                lap_s: bytes as f64 / 1e10,
            }))
        };
        search(bytes_max, compare).unwrap()
    }

    #[test]
    fn a_working_set_grows_until_caches_no_longer_matter() {
        let check = |cache, bytes_max, expected, is_beyond_caches| {
            let found = found(cache * MIB, bytes_max * MIB).working_set;
            assert_eq!(
                (found.bytes, found.is_beyond_caches),
                (expected * MIB, is_beyond_caches),
                "{cache}"
            );
        };
        // A guest sees 300 MiB and gets a part of them.
        check(1, 1200, 384, true);
        check(5, 1200, 768, true);
        // All of it fits into the cache: latency does not change from 256 to 300 MiB.
        check(300, 1200, 1200, false);
        check(300, 65_536, 49_152, true);
        // Half as large again would be more than there is.
        check(1, 300, 300, true);
        // Less memory than the smallest.
        check(1, 64, 64, false);
    }

    #[test]
    fn times_are_of_the_last_size_tried() {
        for (cache, tried) in [(1, 256), (5, 512), (300, 1200)] {
            let found = found(cache * MIB, 1200 * MIB);
            let last = found.working_set.points.last().map(|it| it.bytes);
            assert_eq!((found.tried_bytes, last), (tried * MIB, Some(tried * MIB)));
            assert!((found.lap_s - found.tried_bytes as f64 / 1e10).abs() < 1e-9);
        }
    }

    #[test]
    fn sizes_far_within_a_cache_are_measured_once() {
        let found = found(300 * MIB, 65_536 * MIB);
        let counts: Vec<u32> = found
            .working_set
            .points
            .iter()
            .map(|it| it.memories)
            .collect();
        assert_eq!(counts[..3], [1, 1, 1]);
        assert_eq!(counts.last(), Some(&7));
        assert!((found.lap_s - 3.4).abs() < 0.1, "{}", found.lap_s);
    }

    #[test]
    fn a_memory_that_contradicts_its_plan_is_no_proof() {
        let found = search(256 * MIB, |_, _| Ok(None)).unwrap().working_set;
        assert_eq!((found.bytes, found.is_beyond_caches), (256 * MIB, false));
        assert!(found.points.is_empty());
    }
}
