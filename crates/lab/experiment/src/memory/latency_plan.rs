//! Plans of `numalab latency`: a cell is a case, a round of it a trial.

use model::{
    ByteSize, CasePlan, CpuId, CpuSet, DepthCurve, LineTransfers, MemoryLatency, Metric, NodeId,
    PageKind, Topology, Work,
};

use super::case_name;
use super::names;
use super::places::{MemoryPlaces, place, with_reserve};
use crate::plan::{Cannot, Host, Plan, SkippedCase};

/// The largest working set of a curve.
const CURVE_BYTES: u64 = 1 << 30;
/// The same on an emulated machine.
const CURVE_BYTES_EMULATED: u64 = 256 << 10;
/// CPUs between which lines are transferred at most: the pairs grow with the square.
const TRANSFER_CPUS_MAX: usize = 64;
/// Up to so many CPUs, siblings of one core take part in transfers, too.
const TRANSFER_SIBLINGS_MAX: usize = 32;
/// Windows of a pair of CPUs.
const TRANSFER_WINDOWS: u32 = 7;
/// Round trips in a window: at 100 ns one way, 0.2 ms.
const ROUND_TRIPS: u32 = 1000;

/// For which pairs of nodes a curve is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurvePairs {
    /// The first node with CPUs and its own memory.
    Local,
    /// Every node with every other.
    All,
    /// One pair: the node of the CPU, the node of the memory.
    One(NodeId, NodeId),
}

/// The matrix: from the CPUs of every node to the memory of every node; and one cell once more with
/// small pages all over, which shows what page walks cost.
///
/// # Errors
/// When no cell can be measured.
pub fn latency_plan(host: &Host<'_>, places: &MemoryPlaces) -> Result<Plan, Cannot> {
    let mut cases = Vec::new();
    let mut skipped = Vec::new();
    for (from, to) in places.pairs() {
        let name = case_name::of_cell(from, to);
        match places.without_room.get(&to) {
            Some(reason) => skipped.push(SkippedCase::without_advice(name, reason.clone())),
            None => cases.push(cell(host.topology, places, from, to, name)),
        }
    }
    if let Some(walks) = cases.first().map(page_walks) {
        cases.push(walks);
    }
    let question = "How far is the memory of each node from the CPUs of each?";
    plan(
        names::LATENCY,
        question,
        Metric::NsPerAccess,
        cases,
        skipped,
    )
}

fn cell(
    topology: &Topology,
    places: &MemoryPlaces,
    from: NodeId,
    to: NodeId,
    name: String,
) -> CasePlan {
    let cpu = places.measuring[&from];
    CasePlan {
        name,
        about: format!("CPU {cpu} of node {from} and memory of node {to}"),
        placement: place(CpuSet::of(cpu), to),
        work: Work::MemoryLatency(chase(topology, places, from, to)),
    }
}

/// The chase from a node to a node.
pub(crate) fn chase(
    topology: &Topology,
    places: &MemoryPlaces,
    from: NodeId,
    to: NodeId,
) -> MemoryLatency {
    let resting = [from];
    let (windows, window_ns) = match places.emulated {
        true => (3, kernels::WINDOW_NS / 4),
        false => (kernels::WINDOWS, kernels::WINDOW_NS),
    };
    let awake = match places.emulated {
        true => CpuSet::new(),
        false => kernels::cpus_to_keep_awake(topology, &resting, &places.allowed),
    };
    MemoryLatency {
        home_cpu: places.home_cpu(to, places.measuring[&from]),
        awake_cpus: awake,
        page_kind: Some(places.page_kind),
        working_set_bytes: places.working_set_bytes,
        by_tlb_groups: true,
        windows,
        window_ns,
    }
}

/// The same cell with small pages that are visited all over.
fn page_walks(cell: &CasePlan) -> CasePlan {
    let mut walks = cell.clone();
    walks.name = "page-walks".to_owned();
    walks.about = format!("{}, in small pages all over", cell.about);
    if let Work::MemoryLatency(work) = &mut walks.work {
        work.page_kind = Some(PageKind::Small);
        work.by_tlb_groups = false;
    }
    walks
}

/// Latency by working set, up to beyond the last cache.
///
/// # Errors
/// When a node of the pair has no CPUs or no memory, or there is no room.
pub fn curve_plan(
    host: &Host<'_>,
    places: &MemoryPlaces,
    pairs: &CurvePairs,
) -> Result<Plan, Cannot> {
    let pairs = match pairs {
        CurvePairs::All => places.pairs(),
        CurvePairs::One(from, to) => vec![checked_pair(places, *from, *to)?],
        CurvePairs::Local => {
            let from = places.measuring.keys().next().copied();
            let local = from.and_then(|from| Some((from, places.own_memory(from)?)));
            local.into_iter().collect()
        }
    };
    let mut cases = Vec::new();
    let mut skipped = Vec::new();
    for (from, to) in pairs {
        let name = case_name::of_cell(from, to);
        match curve_bytes(host, places, to) {
            Ok(bytes_max) => {
                let cpu = places.measuring[&from];
                let work = DepthCurve {
                    home_cpu: places.home_cpu(to, cpu),
                    page_kind: Some(places.page_kind),
                    bytes_max,
                    last_cache_bytes: places.last_cache_bytes,
                };
                cases.push(CasePlan {
                    name,
                    about: format!("CPU {cpu} of node {from} and memory of node {to}"),
                    placement: place(CpuSet::of(cpu), to),
                    work: Work::DepthCurve(work),
                });
            }
            Err(reason) => skipped.push(SkippedCase::without_advice(name, reason)),
        }
    }
    let question = "Where do the caches end, and how far is each level?";
    plan(names::CURVE, question, Metric::NsPerAccess, cases, skipped)
}

fn checked_pair(
    places: &MemoryPlaces,
    from: NodeId,
    to: NodeId,
) -> Result<(NodeId, NodeId), Cannot> {
    if !places.measuring.contains_key(&from) {
        return Err(Cannot::usage(
            format!("node {from} has no CPUs that could measure"),
            "name a node with CPUs first, then a node with memory: --curve=0:1",
        ));
    }
    if !places.memory_nodes.contains(to) {
        return Err(Cannot::usage(
            format!("node {to} has no memory that could be measured"),
            "name a node with CPUs first, then a node with memory: --curve=0:1",
        ));
    }
    Ok((from, to))
}

/// The largest working set that a curve can have on a node: halved until there is room, and beyond
/// the last cache still.
fn curve_bytes(host: &Host<'_>, places: &MemoryPlaces, node: NodeId) -> Result<u64, String> {
    if let Some(reason) = places.without_room.get(&node) {
        return Err(reason.clone());
    }
    if places.emulated {
        return Ok(CURVE_BYTES_EMULATED);
    }
    let Some(free) = host.obtainable_bytes(node) else {
        return Ok(CURVE_BYTES);
    };
    let least = places.last_cache_bytes.unwrap_or(0).saturating_mul(2);
    let mut bytes = CURVE_BYTES.max(least.next_power_of_two());
    while bytes > least && with_reserve(bytes) > free {
        bytes /= 2;
    }
    match with_reserve(bytes) <= free {
        true => Ok(bytes),
        false => Err(format!(
            "node {node} has no room for twice the last cache: {} needed, {} available",
            ByteSize(with_reserve(bytes)),
            ByteSize(free)
        )),
    }
}

/// Transfers of a line between CPUs, its home on each memory node in turn.
///
/// # Errors
/// When there are not two CPUs.
pub fn transfers_plan(places: &MemoryPlaces) -> Result<Plan, Cannot> {
    let cpus = transfer_cpus(places);
    if cpus.len() < 2 {
        return Err(Cannot::machine(
            "a line goes from one CPU to another, and this process may use 1",
            "run it with more CPUs",
        ));
    }
    let windows = if places.emulated { 1 } else { TRANSFER_WINDOWS };
    let round_trips = if places.emulated { 20 } else { ROUND_TRIPS };
    let case = |home: NodeId| CasePlan {
        name: format!("home-{home}"),
        about: format!("a line of node {home} between CPUs {cpus}"),
        placement: place(cpus.clone(), home),
        work: Work::LineTransfers(LineTransfers {
            windows,
            round_trips,
        }),
    };
    let cases = places.memory_nodes.iter().map(case).collect();
    let question = "How long does a cache line take from one CPU to another?";
    let metric = Metric::NsPerAccess;
    plan(names::TRANSFERS, question, metric, cases, Vec::new())
}

/// All CPUs where they are few, else one of each core, else as many of each node as there is time
/// for.
fn transfer_cpus(places: &MemoryPlaces) -> CpuSet {
    let all: usize = places.cpus.values().map(Vec::len).sum();
    if all <= TRANSFER_SIBLINGS_MAX {
        return places.cpus.values().flatten().copied().collect();
    }
    let share = (TRANSFER_CPUS_MAX / places.cpus.len().max(1)).max(1);
    let of_node = |cpus: &Vec<CpuId>| cpus.iter().take(share).copied().collect::<Vec<_>>();
    places.cpus.values().flat_map(of_node).collect()
}

/// A plan of these cases, the first of which is the baseline.
pub(crate) fn plan(
    experiment: &str,
    question: &str,
    metric: Metric,
    cases: Vec<CasePlan>,
    skipped: Vec<SkippedCase>,
) -> Result<Plan, Cannot> {
    let Some(first) = cases.first() else {
        let reason = skipped.first().map(|skipped| skipped.cannot.reason.clone());
        return Err(Cannot::machine(
            reason.unwrap_or_else(|| "there is nothing to measure".to_owned()),
            "",
        ));
    };
    Ok(Plan {
        experiment: experiment.to_owned(),
        question: question.to_owned(),
        definition: format!("# Made from the topology.\nexperiment = \"{experiment}\"\n"),
        metric,
        baseline: first.name.clone(),
        asks_about_memory: true,
        cases,
        skipped,
        notes: Vec::new(),
    })
}
