//! Plans of `numalab latency`: each cell is a case, each of its rounds a trial.

use model::{
    ByteSize, CasePlan, CpuId, CpuSet, DepthCurve, LineTransfers, Metric, NodeId, NodeSet,
    PageKind, Work,
};

use super::kernel_work::chase;
use super::names;
use super::places::{MemoryPlaces, place, with_reserve};
use crate::plan::{Cannot, Host, Plan, SkippedCase};

/// Largest working set of a curve, in bytes.
const CURVE_BYTES: u64 = 1 << 30;
/// Largest working set of a curve on an emulated machine, in bytes.
const CURVE_BYTES_EMULATED: u64 = 256 << 10;
/// Target number of CPUs for line transfers on a large machine: the number of pairs grows with its
/// square.
const TRANSFER_CPUS_MAX: usize = 64;
/// Up to this many CPUs, all of them take part in transfers, siblings of one core included.
const TRANSFER_SIBLINGS_MAX: usize = 32;
/// Windows for each pair of CPUs.
const TRANSFER_WINDOWS: u32 = 7;
/// Round trips in a window: 0.2 ms at 100 ns one way.
const ROUND_TRIPS: u32 = 1000;

/// The pairs of nodes for which a curve is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurvePairs {
    /// The first node with CPUs and its local memory.
    Local,
    /// Every node with every other.
    All,
    /// One pair: the node of the CPU, the node of the memory.
    One(NodeId, NodeId),
}

/// Plans the matrix from the CPUs of every node to the memory of every node, and one cell again
/// with random small pages, which shows the cost of page walks.
///
/// # Errors
/// When no cell can be measured.
pub fn latency_plan(places: &MemoryPlaces) -> Result<Plan, Cannot> {
    let mut cases = Vec::new();
    let mut skipped = Vec::new();
    for (from, to) in places.pairs() {
        let name = names::of_cell(from, to);
        match places.without_room.get(&to) {
            Some(reason) => skipped.push(SkippedCase::without_advice(name, reason.clone())),
            None => cases.push(cell(places, from, to, name)),
        }
    }
    if let Some(walks) = cases.first().map(page_walks) {
        cases.push(walks);
    }
    let question = "What is the latency from each node's CPUs to each node's memory?";
    plan(
        names::LATENCY,
        question,
        Metric::NsPerAccess,
        cases,
        skipped,
    )
}

fn cell(places: &MemoryPlaces, from: NodeId, to: NodeId, name: String) -> CasePlan {
    let cpu = places.measuring[&from];
    CasePlan {
        name,
        about: format!("CPU {cpu} of node {from} and memory of node {to}"),
        placement: place(CpuSet::of(cpu), NodeSet::of(to)),
        work: Work::MemoryLatency(chase(places, from, to)),
    }
}

/// Returns the same cell with small pages in random order.
fn page_walks(cell: &CasePlan) -> CasePlan {
    let mut walks = cell.clone();
    walks.name = "page-walks".to_owned();
    walks.about = format!("{}, random small pages", cell.about);
    if let Work::MemoryLatency(work) = &mut walks.work {
        work.page_kind = Some(PageKind::Small);
        work.by_tlb_groups = false;
    }
    walks
}

/// Plans latency by working set, up to beyond the last cache.
///
/// # Errors
/// When a node of the pair has no CPUs or no memory, or memory is short.
pub fn curve_plan(host: &Host, places: &MemoryPlaces, pairs: &CurvePairs) -> Result<Plan, Cannot> {
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
        let name = names::of_cell(from, to);
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
                    placement: place(CpuSet::of(cpu), NodeSet::of(to)),
                    work: Work::DepthCurve(work),
                });
            }
            Err(reason) => skipped.push(SkippedCase::without_advice(name, reason)),
        }
    }
    let question = "Where does each cache level end, and what is its latency?";
    plan(names::CURVE, question, Metric::NsPerAccess, cases, skipped)
}

/// Checks that the nodes of a curve are there, before anything is measured.
///
/// # Errors
/// When a node of the pair has no CPUs or no memory.
pub fn check_pairs(places: &MemoryPlaces, pairs: &CurvePairs) -> Result<(), Cannot> {
    match pairs {
        CurvePairs::One(from, to) => checked_pair(places, *from, *to).map(drop),
        CurvePairs::All | CurvePairs::Local => Ok(()),
    }
}

fn checked_pair(
    places: &MemoryPlaces,
    from: NodeId,
    to: NodeId,
) -> Result<(NodeId, NodeId), Cannot> {
    if !places.measuring.contains_key(&from) {
        return Err(Cannot::usage(
            format!("node {from} has no usable CPUs"),
            "name a node with CPUs first, then a node with memory: --curve=0:1",
        ));
    }
    if !places.memory_nodes.contains(to) {
        return Err(Cannot::usage(
            format!("node {to} has no usable memory"),
            "name a node with CPUs first, then a node with memory: --curve=0:1",
        ));
    }
    Ok((from, to))
}

/// Returns the largest working set of a curve on a node: halved until it fits, but always beyond
/// the last cache.
fn curve_bytes(host: &Host, places: &MemoryPlaces, node: NodeId) -> Result<u64, String> {
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
            "not enough memory on node {node} for twice the last-level cache: {} needed, {} \
             available",
            ByteSize(with_reserve(bytes)),
            ByteSize(free)
        )),
    }
}

/// Plans transfers of a cache line between CPUs, with its home on each memory node in turn.
///
/// # Errors
/// When there are fewer than two CPUs.
pub fn transfers_plan(places: &MemoryPlaces) -> Result<Plan, Cannot> {
    let cpus = transfer_cpus(places);
    if cpus.len() < 2 {
        return Err(Cannot::machine(
            "needs 2 CPUs (this process may use 1)",
            "run it with more CPUs",
        ));
    }
    let windows = if places.emulated { 1 } else { TRANSFER_WINDOWS };
    let round_trips = if places.emulated { 20 } else { ROUND_TRIPS };
    let case = |home: NodeId| CasePlan {
        name: format!("home-{home}"),
        about: format!("a line of node {home} between CPUs {cpus}"),
        placement: place(cpus.clone(), NodeSet::of(home)),
        work: Work::LineTransfers(LineTransfers {
            windows,
            round_trips,
        }),
    };
    let cases = places.memory_nodes.iter().map(case).collect();
    let question = "How long does a cache line take to move from one CPU to another?";
    let metric = Metric::NsPerAccess;
    plan(names::TRANSFERS, question, metric, cases, Vec::new())
}

/// Returns all CPUs where they are few; otherwise an equal share of each node, one CPU of each core
/// before siblings.
fn transfer_cpus(places: &MemoryPlaces) -> CpuSet {
    let all: usize = places.cpus.values().map(Vec::len).sum();
    if all <= TRANSFER_SIBLINGS_MAX {
        return places.cpus.values().flatten().copied().collect();
    }
    let share = (TRANSFER_CPUS_MAX / places.cpus.len().max(1)).max(1);
    let of_node = |cpus: &Vec<CpuId>| cpus.iter().take(share).copied().collect::<Vec<_>>();
    places.cpus.values().flat_map(of_node).collect()
}

/// Returns a plan of these cases; the first is the baseline.
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
        definition: names::definition(experiment),
        metric,
        baseline: first.name.clone(),
        asks_about_memory: true,
        cases,
        skipped,
        notes: Vec::new(),
    })
}
