//! Measures how much of its last-level cache a CPU can use. A guest often sees the whole cache of
//! its host, of which its neighbours leave it only a part.
//!
//! A chase visits working sets of growing size. Of a working set of W bytes the cache serves C and
//! memory serves the rest, so an access takes
//!
//! ```text
//! latency(W) = C/W * near + (1 - C/W) * far      near: all from the cache, far: all from memory
//!          C = W * (far - latency(W)) / (far - near)
//! ```
//!
//! Each line is visited once per lap, so no cache serves more of a lap than it holds, and a cache
//! that evicts the lines needed next serves less: C is a lower bound of the cache's size. The
//! largest C of all working sets is the share.

use linux::Root;
use model::{CpuId, CpuSet};

use crate::Error;
use crate::cell::{CellPlan, WINDOW_NS, WINDOWS, WarmUp, measure_cell};
use crate::cycle::STRIDE_BYTES;
use crate::placed_memory::{MemoryNodes, PageChoice};
use crate::timer::Timer;

/// The smallest working set.
const BYTES_MIN: u64 = 1 << 20;

/// Minimum ratio of the smallest working set to the next-inner cache, so that the last-level cache
/// serves most of it.
const TIMES_INNER: u64 = 2;

/// The working set that measures memory: its lines were flushed and not visited since. The first
/// pass visits one line in four, 260 000 of 64 MiB, before any of their neighbours. The untimed
/// accesses and the windows together visit fewer (20 000, and 10 ms: 125 000 at 80 ns).
const FAR_BYTES: u64 = 64 << 20;

/// Laps before a working set is timed. On a guest of a Zen 4 with neighbours, 4 MiB took seven laps
/// (30 ms) to drop from the latency of memory to that of the cache.
const WARM: WarmUp = WarmUp::Laps {
    ns_min: 100_000_000,
};

/// Minimum ratio of latencies at which memory can be distinguished from the cache.
const FAR_TO_NEAR_MIN: f64 = 1.3;

/// Number of sweeps. The one with the largest share counts: activity of neighbours only reduces
/// what the cache serves.
const SWEEPS: u64 = 3;

/// What to measure, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSharePlan {
    /// The CPU that measures.
    pub cpu: CpuId,
    /// Nodes of the memory.
    pub nodes: MemoryNodes,
    /// The last-level cache of this CPU as reported by the kernel.
    pub last_cache_bytes: u64,
    /// The next-inner cache; 0 if there is none.
    pub inner_cache_bytes: u64,
    /// The largest working set that fits in memory.
    pub bytes_max: u64,
    /// Seed of the orders; each cell uses a separate stream.
    pub seed: u64,
}

/// The result of the measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheShare {
    /// The part of the last-level cache that the CPU can use, at most the reported size; `None` if
    /// it cannot be determined.
    pub bytes: Option<u64>,
    /// The sweeps it is derived from.
    pub sweeps: Vec<CacheSweep>,
}

/// One sweep over the working sets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CacheSweep {
    /// Latency of memory, ns.
    pub far_ns: f64,
    /// Working sets in bytes, ascending, with the latency of each in ns. Ends with the first of
    /// which the cache serves less than half, since larger ones add nothing.
    pub points: Vec<(u64, f64)>,
    /// Whether memory was too small for a working set that was still needed.
    pub is_cut_off: bool,
    /// How the evidence contradicts the plan; a sweep with any contradiction is invalid.
    pub contradictions: Vec<String>,
}

/// Measures the share, in three sweeps with fresh memory for each working set.
///
/// # Errors
/// When the memory cannot be allocated, the CPU cannot be used, or evidence cannot be read.
pub fn measure_cache_share(
    plan: &CacheSharePlan,
    timer: &Timer,
    root: &Root,
) -> Result<CacheShare, Error> {
    let sweep = |number| measure_sweep(plan, number, timer, root);
    let sweeps: Vec<CacheSweep> = (0..SWEEPS).map(sweep).collect::<Result<_, _>>()?;
    let bytes = largest_share(&sweeps).map(|bytes| bytes.min(plan.last_cache_bytes));
    Ok(CacheShare { bytes, sweeps })
}

/// Returns the largest share; `None` if any sweep has none, since that share might be larger.
fn largest_share(sweeps: &[CacheSweep]) -> Option<u64> {
    let shares = sweeps.iter().map(CacheSweep::share_bytes);
    shares.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

fn measure_sweep(
    plan: &CacheSharePlan,
    number: u64,
    timer: &Timer,
    root: &Root,
) -> Result<CacheSweep, Error> {
    let mut sweep = CacheSweep::default();
    let sizes = working_sets(plan.last_cache_bytes, plan.inner_cache_bytes);
    let mut stream = number * (sizes.len() as u64 + 1);
    let mut measure = |bytes: u64, warm_up: WarmUp, sweep: &mut CacheSweep| {
        let cell = CellPlan {
            cpu: plan.cpu,
            nodes: plan.nodes.clone(),
            home_cpu: plan.cpu,
            awake_cpus: CpuSet::new(),
            pages: PageChoice::Largest,
            working_set_bytes: bytes as usize,
            by_tlb_groups: true,
            warm_up,
            windows: WINDOWS,
            window_ns: WINDOW_NS,
            seed: plan.seed,
            stream,
        };
        stream += 1;
        let measured = measure_cell(&cell, timer, root)?;
        let samples_ns = measured.samples_ns();
        sweep.contradictions.extend(measured.contradictions);
        Ok::<_, Error>(stats::median(&samples_ns).expect("windows take time"))
    };
    if plan.bytes_max < FAR_BYTES {
        sweep.is_cut_off = true;
        return Ok(sweep);
    }
    sweep.far_ns = measure(FAR_BYTES, WarmUp::FirstVisits, &mut sweep)?;
    for bytes in sizes {
        if bytes > plan.bytes_max {
            sweep.is_cut_off = true;
            break;
        }
        let ns = measure(bytes, WARM, &mut sweep)?;
        sweep.points.push((bytes, ns));
        if !sweep.goes_on() {
            break;
        }
    }
    Ok(sweep)
}

/// Returns the size of the last-level cache and its halves, quarters and so on down to the smallest
/// working set that it must serve itself, ascending.
fn working_sets(last_cache_bytes: u64, inner_cache_bytes: u64) -> Vec<u64> {
    let least = inner_cache_bytes.saturating_mul(TIMES_INNER).max(BYTES_MIN);
    let halves = std::iter::successors(Some(last_cache_bytes), |bytes| Some(bytes / 2));
    let large = halves.take_while(|bytes| *bytes >= least);
    let mut sizes: Vec<u64> = large
        .map(|bytes| bytes - bytes % STRIDE_BYTES as u64)
        .collect();
    sizes.reverse();
    sizes
}

impl CacheSweep {
    /// Returns whether the cache served at least half of the last working set, so that a larger one
    /// may add information.
    fn goes_on(&self) -> bool {
        let answered = self.answered_bytes().last().copied();
        let last = answered.zip(self.points.last());
        last.is_some_and(|(answered, (bytes, _))| answered >= *bytes as f64 / 2.0)
    }

    /// Returns how many bytes of each working set the cache served; empty if memory and cache
    /// cannot be distinguished.
    fn answered_bytes(&self) -> Vec<f64> {
        let mut all_ns = self.points.iter().map(|point| point.1);
        // The smallest working set is normally the fastest, unless something interrupted it.
        let near_ns = all_ns.clone().fold(f64::INFINITY, f64::min);
        let is_latency = |ns: f64| ns.is_finite() && ns > 0.0;
        let is_far = is_latency(self.far_ns) && self.far_ns >= near_ns * FAR_TO_NEAR_MIN;
        if !is_far || !all_ns.all(is_latency) {
            return Vec::new();
        }
        let answered = |(bytes, ns): &(u64, f64)| {
            let share = (self.far_ns - ns) / (self.far_ns - near_ns);
            *bytes as f64 * share.clamp(0.0, 1.0)
        };
        self.points.iter().map(answered).collect()
    }

    /// Returns the most bytes that the cache served of a working set; `None` if that is unknown.
    pub(crate) fn share_bytes(&self) -> Option<u64> {
        if self.is_cut_off || !self.contradictions.is_empty() {
            return None;
        }
        let most = self.answered_bytes().into_iter().reduce(f64::max)?;
        Some(most as u64)
    }
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::NodeId;

    use super::{
        CacheSharePlan, CacheSweep, FAR_BYTES, largest_share, measure_cache_share, working_sets,
    };
    use crate::placed_memory::MemoryNodes;
    use crate::timer::Timer;

    const MIB: u64 = 1 << 20;

    fn sweep(far_ns: f64, points: &[(u64, f64)]) -> CacheSweep {
        CacheSweep {
            far_ns,
            points: points.iter().map(|(mib, ns)| (mib * MIB, *ns)).collect(),
            ..CacheSweep::default()
        }
    }

    fn check(far_ns: f64, points: &[(u64, f64)], expected_mib: Option<u64>) {
        let share = sweep(far_ns, points).share_bytes();
        assert_eq!(share, expected_mib.map(|mib| mib * MIB), "{points:?}");
    }

    #[test]
    fn the_share_is_what_the_cache_answers() {
        // All of a cache of 32 MiB, a quarter of it, and 12 MiB: 20 ns near, 120 ns far.
        let full = [(2, 20.0), (4, 20.0), (8, 20.0), (16, 20.0), (32, 20.0)];
        check(120.0, &full, Some(32));
        check(120.0, &[(2, 20.0), (8, 20.0), (16, 70.0)], Some(8));
        check(120.0, &[(2, 20.0), (8, 20.0), (16, 45.0)], Some(12));
        // A larger working set that is served less does not reduce the share.
        check(120.0, &[(8, 20.0), (16, 110.0)], Some(8));
        // One faster than the smallest, which was interrupted, and one slower than memory.
        check(120.0, &[(2, 20.0), (4, 18.0)], Some(4));
        check(120.0, &[(2, 20.0), (4, 300.0)], Some(2));
    }

    #[test]
    fn what_cannot_be_told_apart_has_no_share() {
        check(25.0, &[(2, 20.0), (4, 24.0)], None);
        check(20.0, &[(2, 20.0), (4, 20.0)], None);
        check(10.0, &[(2, 20.0)], None);
        check(120.0, &[], None);
        for wrong in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            check(wrong, &[(2, 20.0), (4, 24.0)], None);
            check(120.0, &[(2, wrong), (4, 24.0)], None);
            check(120.0, &[(2, 20.0), (4, wrong)], None);
        }
        let told = sweep(120.0, &[(2, 20.0)]);
        let contradictions = vec!["a page moved".to_owned()];
        let moved = CacheSweep {
            contradictions,
            ..told.clone()
        };
        let cut_off = CacheSweep {
            is_cut_off: true,
            ..told
        };
        assert_eq!((moved.share_bytes(), cut_off.share_bytes()), (None, None));
    }

    #[test]
    fn a_sweep_ends_where_less_than_half_is_answered() {
        assert!(sweep(120.0, &[(2, 20.0)]).goes_on());
        assert!(sweep(120.0, &[(2, 20.0), (4, 70.0)]).goes_on());
        assert!(!sweep(120.0, &[(2, 20.0), (4, 71.0)]).goes_on());
        assert!(!sweep(25.0, &[(2, 20.0)]).goes_on());
    }

    #[test]
    fn the_largest_share_counts_if_every_sweep_tells() {
        let disturbed = sweep(120.0, &[(2, 20.0), (4, 110.0)]);
        let told = sweep(120.0, &[(2, 20.0), (4, 20.0)]);
        let silent = sweep(20.0, &[(2, 20.0)]);
        let check = |sweeps: &[&CacheSweep], expected: Option<u64>| {
            let sweeps: Vec<CacheSweep> = sweeps.iter().map(|it| (*it).clone()).collect();
            assert_eq!(largest_share(&sweeps), expected);
        };
        check(&[&disturbed, &told, &disturbed], Some(4 * MIB));
        check(&[&told, &silent, &told], None);
        check(&[], None);
    }

    #[test]
    fn working_sets_are_octaves_that_the_last_cache_answers() {
        let check = |last, inner, expected: &[u64]| {
            let found = working_sets(last * MIB, inner * MIB);
            let expected: Vec<u64> = expected.iter().map(|kib| kib << 10).collect();
            assert_eq!(found, expected);
        };
        check(32, 1, &[2048, 4096, 8192, 16384, 32768]);
        check(24, 0, &[1536, 3072, 6144, 12288, 24576]);
        check(300, 48, &[153_600, 307_200]);
        check(2, 2, &[]);
        check(0, 0, &[]);
    }

    #[test]
    fn a_small_cache_is_measured_with_its_evidence() {
        let cpu = linux::affinity::of_this_thread().unwrap().last().unwrap();
        let mut plan = CacheSharePlan {
            cpu,
            nodes: MemoryNodes::Bind(NodeId(0)),
            last_cache_bytes: 4 * MIB,
            inner_cache_bytes: MIB,
            bytes_max: FAR_BYTES,
            seed: 7,
        };
        let (timer, root) = (Timer::for_tests(), Root::live());
        let share = measure_cache_share(&plan, &timer, &root).unwrap();
        assert_eq!(share.sweeps.len(), 3);
        for sweep in &share.sweeps {
            assert_eq!(sweep.contradictions, Vec::<String>::new());
            assert!(sweep.far_ns > 0.0 && !sweep.is_cut_off);
            assert_eq!(sweep.points[0].0, 2 * MIB);
        }
        assert!(share.bytes.is_none_or(|bytes| bytes <= 4 * MIB));
        plan.bytes_max = 2 * MIB;
        let share = measure_cache_share(&plan, &timer, &root).unwrap();
        assert_eq!(share.bytes, None);
    }
}
