//! Measures one cell of the latency matrix: one CPU, one memory node, one kind of pages, one
//! working set. Gives raw samples and the evidence that they are of what was asked for.

use linux::Root;
use model::{CpuId, CpuSet, MeasurementEvidence};

use crate::Error;
use crate::awake::Awake;
use crate::chase::{ACCESSES_UNTIMED, Chase, ChaseWindow};
use crate::contradictions::contradictions;
use crate::cycle::{Cycle, CycleOrder, STRIDE_BYTES, TLB_GROUP_PAGES};
use crate::placed_memory::{MemoryNodes, PageChoice, PlacedMemory};
use crate::placed_thread::{Watch, on_cpu};
use crate::timer::Timer;

/// How one cell is to be measured, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPlan {
    /// The CPU that measures.
    pub cpu: CpuId,
    /// Where the memory is to lie.
    pub nodes: MemoryNodes,
    /// The CPU that makes the memory and its content: one of the memory's own node, if it has any,
    /// so that the caches and directories there are what they would be after a local program.
    pub home_cpu: CpuId,
    /// CPUs that are kept busy meanwhile.
    pub awake_cpus: CpuSet,
    /// Pages.
    pub pages: PageChoice,
    /// Memory that one lap visits; rounded down to whole strides.
    pub working_set_bytes: usize,
    /// Whether pages are visited in groups that the TLB can hold. Without, page walks are part of
    /// what is measured.
    pub by_tlb_groups: bool,
    /// Chains followed at once: 1 for latency.
    pub chains: usize,
    /// What comes before the windows.
    pub warm_up: WarmUp,
    /// Windows timed: see [`WINDOWS`].
    pub windows: u32,
    /// Length of a window, about: see [`WINDOW_NS`].
    pub window_ns: u64,
    /// Seed of the order.
    pub seed: u64,
    /// Stream of the seed: one of its own for every repeat.
    pub stream: u64,
}

/// What comes before the windows of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// Lines are taken out of the caches, and the chase goes round once.
    Lap,
    /// Lines are taken out of the caches, and the windows time lines that no cache has held since,
    /// as long as all of them together are shorter than a lap.
    FirstVisits,
    /// Lines stay where their making left them, and the chase goes round for so many ns, once at
    /// least: a cache can take ten laps until it keeps what it is asked for.
    Laps {
        /// How long at least.
        ns_min: u64,
    },
}

/// What one cell gave, once.
#[derive(Debug, Clone, PartialEq)]
pub struct CellMeasurement {
    /// The windows in the order they were timed, raw.
    pub windows: Vec<ChaseWindow>,
    /// Memory that one lap visited.
    pub working_set_bytes: u64,
    /// Pages that are visited before others are; `None`: all.
    pub tlb_group_pages: Option<u32>,
    /// How long the last lap before the windows took, or what came in place of one.
    pub lap_ns: f64,
    /// Where the chase ended: the same for the same plan, on any machine.
    pub checksum: u64,
    /// What the kernel says of memory and thread.
    pub evidence: MeasurementEvidence,
    /// How the evidence contradicts the plan; a measurement with any is invalid.
    pub contradictions: Vec<String>,
}

impl CellMeasurement {
    /// Latency of one access in each window, in ns.
    pub fn samples_ns(&self) -> Vec<f64> {
        let windows = self.windows.iter();
        windows.map(ChaseWindow::ns_per_access).collect()
    }
}

/// Measures one cell, once: makes fresh memory on the home CPU, lays a fresh order through it,
/// takes it out of the caches, reads where it lies, goes round once, untimed, from the measuring
/// CPU (which fills directories and shows how long a window is; [`WarmUp`] has other ways), and
/// times the windows.
///
/// # Errors
/// When the memory cannot be had, a CPU cannot be used, or evidence cannot be read.
pub fn measure_cell(plan: &CellPlan, timer: &Timer, root: &Root) -> Result<CellMeasurement, Error> {
    measure_cell_between(plan, timer, root, || {})
}

/// The same; `edge` is called on the measuring thread just before the first window and just after
/// the last.
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
        chains: plan.chains,
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
        // Before the lap: reading where pages are goes through the kernel's record of each, which
        // drives page tables out of the caches. The lap brings them back.
        let mut watch = Watch::begin(root, address)?;
        let mut chase = Chase::new(cycle);
        let lap = warm_up(&mut chase, cycle, plan.warm_up, timer);
        let accesses = (plan.window_ns as f64 / lap.ns_per_access()).max(1.0) as u64;
        let mut windows = Vec::with_capacity(plan.windows as usize);
        edge();
        for _ in 0..plan.windows {
            windows.push(chase.time(accesses, timer));
            watch.look();
        }
        edge();
        let evidence = watch.end()?;
        Ok(CellMeasurement {
            contradictions: contradictions(plan.cpu, &plan.nodes, &evidence),
            windows,
            working_set_bytes: bytes as u64,
            tlb_group_pages: plan.by_tlb_groups.then_some(TLB_GROUP_PAGES),
            lap_ns: lap.elapsed_ns,
            checksum: chase.checksum(),
            evidence,
        })
    })
}

fn warm_up(
    chase: &mut Chase<'_, '_>,
    cycle: &Cycle<'_>,
    warm_up: WarmUp,
    timer: &Timer,
) -> ChaseWindow {
    let lines = cycle.lines() as u64;
    let ns_min = match warm_up {
        WarmUp::FirstVisits => return chase.time(ACCESSES_UNTIMED, timer),
        WarmUp::Lap => 0.0,
        WarmUp::Laps { ns_min } => ns_min as f64,
    };
    let mut lap = chase.time(lines, timer);
    let mut elapsed_ns = lap.elapsed_ns;
    while elapsed_ns < ns_min {
        lap = chase.time(lines, timer);
        elapsed_ns += lap.elapsed_ns;
    }
    lap
}

/// Length of a window that is well below the time slice of a scheduler (3 ms on Linux): on a busy
/// machine most windows are then not interrupted, and their median tells of memory.
pub const WINDOW_NS: u64 = 200_000;

/// Windows of one cell in one round: with [`WINDOW_NS`], 10 ms and some 100 000 accesses.
pub const WINDOWS: u32 = 51;

/// The smallest working set for memory beyond all caches: multichase chases 256 MiB, of which it
/// visits every fourth line; we visit every line.
pub const WORKING_SET_BYTES_MIN: u64 = 128 << 20;

/// How many times the last cache a working set is: a cache that does not replace the longest
/// unused line keeps a share of about 1 in this many of a working set that goes round.
pub const WORKING_SET_PER_CACHE: u64 = 4;

/// The working set that measures memory and not caches, for a last cache of this size.
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
            chains: 1,
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
