//! Measures one cell of the latency matrix: one CPU, one memory node, one page kind, one working
//! set. Returns raw samples and the evidence that they measure what was requested.

use linux::Root;
use model::{CpuId, CpuSet, MeasurementEvidence};

use crate::Error;
use crate::awake::Awake;
use crate::chase::{ACCESSES_TO_CALIBRATE, ACCESSES_UNTIMED, CHAINS_MAX, Chase, ChaseWindow};
use crate::contradictions::contradictions;
use crate::cycle::{Cycle, CycleOrder, STRIDE_BYTES, TLB_GROUP_PAGES};
use crate::placed_memory::{MemoryNodes, PageChoice, PlacedMemory};
use crate::placed_thread::{Watch, on_cpu};
use crate::timer::Timer;

/// How to measure one cell, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPlan {
    /// The CPU that measures.
    pub cpu: CpuId,
    /// Nodes of the memory.
    pub nodes: MemoryNodes,
    /// The CPU that allocates and fills the memory: one of the memory's node, if it has any, so
    /// that the caches and directories there are as a local program would leave them.
    pub home_cpu: CpuId,
    /// CPUs kept busy during the measurement.
    pub awake_cpus: CpuSet,
    /// Page kind.
    pub pages: PageChoice,
    /// Memory visited in one lap; rounded down to whole strides.
    pub working_set_bytes: usize,
    /// Whether to visit pages in groups that fit the TLB. If not, the latency includes page walks.
    pub by_tlb_groups: bool,
    /// What precedes the windows.
    pub warm_up: WarmUp,
    /// Number of timed windows: see [`WINDOWS`].
    pub windows: u32,
    /// Approximate length of a window: see [`WINDOW_NS`].
    pub window_ns: u64,
    /// Seed of the order.
    pub seed: u64,
    /// Stream of the seed: a different one for every repetition.
    pub stream: u64,
}

/// What precedes the windows of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// Lines are flushed from the caches, and sixteen chains together complete one lap. The
    /// windows follow one chain each, from where the lap began.
    Lap,
    /// Lines are flushed from the caches, and the windows time lines that no cache has held since,
    /// provided that all windows together are shorter than a lap.
    FirstVisits,
    /// Windows as with [`WarmUp::FirstVisits`], then a lap and windows as with [`WarmUp::Lap`].
    FirstVisitsThenLap,
    /// Lines are not flushed, and the chase runs whole laps for at least `ns_min`: a cache can take
    /// ten laps before it keeps the lines of the working set.
    Laps {
        /// Minimum duration, ns.
        ns_min: u64,
    },
}

/// Result of one measurement of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellMeasurement {
    /// The windows in the order they were timed, raw.
    pub windows: Vec<ChaseWindow>,
    /// With [`WarmUp::FirstVisitsThenLap`], the windows before the lap.
    pub first_visits: Vec<ChaseWindow>,
    /// Memory visited in one lap.
    pub working_set_bytes: u64,
    /// Pages per TLB group; `None`: pages are not visited in groups.
    pub tlb_group_pages: Option<u32>,
    /// Duration of the last lap before the windows, or of the accesses that replaced it.
    pub lap_ns: f64,
    /// Where the chase ended: the same for the same plan on any machine.
    pub checksum: u64,
    /// What the kernel reports about memory and thread.
    pub evidence: MeasurementEvidence,
    /// How the evidence contradicts the plan; a measurement with any contradiction is invalid.
    pub contradictions: Vec<String>,
}

impl CellMeasurement {
    /// Returns the latency of one access in each window, in ns.
    pub fn samples_ns(&self) -> Vec<f64> {
        let windows = self.windows.iter();
        windows.map(ChaseWindow::ns_per_access).collect()
    }
}

/// Measures one cell once: allocates fresh memory on the home CPU, lays a fresh order through it,
/// flushes it from the caches, reads where it lies, makes one untimed lap from the measuring CPU
/// (which fills directories; [`WarmUp`] lists alternatives), and times the windows.
///
/// # Errors
/// When the memory cannot be allocated, a CPU cannot be used, or evidence cannot be read.
pub fn measure_cell(plan: &CellPlan, timer: &Timer, root: &Root) -> Result<CellMeasurement, Error> {
    measure_cell_between(plan, timer, root, || {})
}

/// Like [`measure_cell`], but calls `edge` on the measuring thread just before the first window and
/// just after the last.
///
/// # Errors
/// As for [`measure_cell`].
pub(crate) fn measure_cell_between(
    plan: &CellPlan,
    timer: &Timer,
    root: &Root,
    mut edge: impl FnMut() + Send,
) -> Result<CellMeasurement, Error> {
    let bytes = (plan.working_set_bytes / STRIDE_BYTES).max(1) * STRIDE_BYTES;
    let mut memory = on_cpu(plan.home_cpu, || {
        PlacedMemory::make(root, bytes, &plan.nodes, plan.pages)
    })?;
    let address = memory.address();
    let group_bytes = memory.page_bytes() as usize * TLB_GROUP_PAGES as usize;
    let order = CycleOrder {
        group_bytes: plan.by_tlb_groups.then_some(group_bytes),
        seed: plan.seed,
        stream: plan.stream,
        chains: match plan.warm_up {
            WarmUp::Lap | WarmUp::FirstVisitsThenLap => CHAINS_MAX,
            WarmUp::FirstVisits | WarmUp::Laps { .. } => 1,
        },
    };
    let words = &mut memory.words_mut()[..bytes / size_of::<u64>()];
    let cycle = on_cpu(plan.home_cpu, || {
        let cycle = Cycle::build(words, order);
        if !matches!(plan.warm_up, WarmUp::Laps { .. }) {
            cycle.flush();
        }
        Ok(cycle)
    })?;
    let cycle = &cycle;
    let _awake = Awake::keep(&plan.awake_cpus)?;
    on_cpu(plan.cpu, || {
        // Read the evidence before the lap: the kernel walks its record of every page, which evicts
        // page tables from the caches. The lap brings them back.
        let mut watch = Watch::begin(root, address)?;
        let mut chase = Chase::new(cycle);
        let first_visits = match plan.warm_up {
            WarmUp::FirstVisitsThenLap => {
                let (_, ns_per_access) = warm_up(&mut chase, WarmUp::FirstVisits, timer);
                time_windows(&mut chase, plan, ns_per_access, timer, &mut watch)
            }
            _ => Vec::new(),
        };
        let (lap_ns, ns_per_access) = warm_up(&mut chase, plan.warm_up, timer);
        edge();
        let windows = time_windows(&mut chase, plan, ns_per_access, timer, &mut watch);
        edge();
        let evidence = watch.end()?;
        Ok(CellMeasurement {
            contradictions: contradictions(plan.cpu, &plan.nodes, &evidence),
            windows,
            first_visits,
            working_set_bytes: bytes as u64,
            tlb_group_pages: plan.by_tlb_groups.then_some(TLB_GROUP_PAGES),
            lap_ns,
            checksum: chase.checksum(),
            evidence,
        })
    })
}

fn time_windows(
    chase: &mut Chase<'_, '_>,
    plan: &CellPlan,
    ns_per_access: f64,
    timer: &Timer,
    watch: &mut Watch<'_>,
) -> Vec<ChaseWindow> {
    let accesses = (plan.window_ns as f64 / ns_per_access).max(1.0) as u64;
    let mut windows = Vec::with_capacity(plan.windows as usize);
    for _ in 0..plan.windows {
        windows.push(chase.time(accesses, timer));
        watch.look();
    }
    windows
}

/// Brings caches, directories and page tables into the state to be measured. Returns the duration
/// of the last lap in ns, or that of the accesses in its place, and the latency of one access.
fn warm_up(chase: &mut Chase<'_, '_>, warm_up: WarmUp, timer: &Timer) -> (f64, f64) {
    match warm_up {
        WarmUp::FirstVisits => {
            let visits = chase.time(ACCESSES_UNTIMED, timer);
            (visits.elapsed_ns, visits.ns_per_access())
        }
        WarmUp::Lap | WarmUp::FirstVisitsThenLap => {
            let lap = chase.lap(timer);
            let ns_per_access = chase.time(ACCESSES_TO_CALIBRATE, timer).ns_per_access();
            (lap.elapsed_ns, ns_per_access)
        }
        WarmUp::Laps { ns_min } => {
            let mut lap = chase.lap(timer);
            let mut elapsed_ns = lap.elapsed_ns;
            while elapsed_ns < ns_min as f64 {
                lap = chase.lap(timer);
                elapsed_ns += lap.elapsed_ns;
            }
            (lap.elapsed_ns, lap.ns_per_access())
        }
    }
}

/// Length of a window, well below the time slice of a scheduler (3 ms on Linux): on a busy machine
/// most windows are not interrupted, and their median reflects memory.
pub const WINDOW_NS: u64 = 200_000;

/// Windows of one cell in one round: with [`WINDOW_NS`], 10 ms and about 100 000 accesses.
pub const WINDOWS: u32 = 51;

/// Minimum working set to measure memory beyond all caches: multichase chases 256 MiB, of which it
/// visits every fourth line; numalab visits every line.
pub const WORKING_SET_BYTES_MIN: u64 = 128 << 20;

/// Ratio of the working set to the last-level cache, where no smaller one is found. A cache that
/// does not replace the least recently used line keeps about 1/4 of a working set of 4 times its
/// size that is visited in cycles.
pub(crate) const WORKING_SET_PER_CACHE: u64 = 4;

/// Returns the working set that measures memory and not caches, for a last-level cache of this
/// size.
pub fn memory_working_set_bytes(last_cache_bytes: Option<u64>) -> u64 {
    let beyond = last_cache_bytes
        .unwrap_or(0)
        .saturating_mul(WORKING_SET_PER_CACHE);
    beyond.max(WORKING_SET_BYTES_MIN)
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::{CpuSet, NodeId, PageKind};

    use super::{CellPlan, WarmUp, measure_cell, memory_working_set_bytes};
    use crate::placed_memory::{MemoryNodes, PageChoice};
    use crate::timer::Timer;

    fn plan(pages: PageChoice) -> CellPlan {
        let cpu = linux::affinity::of_this_thread().unwrap().last().unwrap();
        CellPlan {
            cpu,
            nodes: MemoryNodes::Bind(NodeId(0)),
            home_cpu: cpu,
            awake_cpus: CpuSet::new(),
            pages,
            working_set_bytes: 64 << 10,
            by_tlb_groups: true,
            warm_up: WarmUp::Lap,
            windows: 5,
            window_ns: 10_000,
            seed: 1,
            stream: 0,
        }
    }

    #[test]
    fn a_cell_gives_samples_and_the_proof_of_its_placement() {
        let root = Root::live();
        for pages in [PageChoice::Largest, PageChoice::Only(PageKind::Small)] {
            let cell = measure_cell(&plan(pages), &Timer::for_tests(), &root).unwrap();
            assert_eq!(cell.contradictions, Vec::<String>::new());
            assert_eq!(cell.samples_ns().len(), 5);
            assert!(
                cell.samples_ns()
                    .iter()
                    .all(|ns| *ns > 0.0 && ns.is_finite())
            );
            assert_eq!(cell.working_set_bytes, 64 << 10);
        }
    }

    #[test]
    fn a_node_that_does_not_exist_is_an_error() {
        let mut plan = plan(PageChoice::Largest);
        plan.nodes = MemoryNodes::Bind(NodeId(1000));
        let error = measure_cell(&plan, &Timer::for_tests(), &Root::live()).unwrap_err();
        assert!(error.to_string().contains("1000"), "{error}");
    }

    #[test]
    fn working_sets_are_well_beyond_the_last_cache() {
        assert_eq!(memory_working_set_bytes(None), 128 << 20);
        assert_eq!(memory_working_set_bytes(Some(16 << 20)), 128 << 20);
        assert_eq!(memory_working_set_bytes(Some(384 << 20)), 1536 << 20);
        assert_eq!(memory_working_set_bytes(Some(u64::MAX)), u64::MAX);
    }
}
