//! Plans of `numalab bandwidth`: the matrix, thread sweeps, the whole machine, and latency under
//! load.

use model::{
    Allocation, CasePlan, CpuId, CpuSet, LoadedLatency, Metric, NodeId, NodeSet, StreamThreadPlan,
    StreamWork, WholeMachineMemory, Work, cpu_words, node_words,
};

use super::kernel_work::{BandwidthChoice, chase, stream_work};
use super::latency_plan::plan;
use super::names;
use super::places::{MemoryPlaces, place, with_reserve};
use crate::plan::{Cannot, Host, Plan, SkippedCase};

/// Minimum memory of a thread, in bytes.
const BYTES_PER_THREAD_MIN: u64 = 32 << 20;
/// Memory of a thread on an emulated machine, in bytes.
const BYTES_PER_THREAD_EMULATED: u64 = 256 << 10;

/// The whole-machine cases: their names and where memory lies.
pub(crate) const WHOLE_MACHINE: [(&str, WholeMachineMemory); 3] = [
    ("all-cpus-local", WholeMachineMemory::Local),
    ("all-cpus-interleaved", WholeMachineMemory::Interleaved),
    ("all-cpus-remote", WholeMachineMemory::Remote),
];

/// Plans the matrix with all CPUs of each node; with [`BandwidthChoice::is_whole`] also sweeps of
/// the thread count on each node, and the whole machine with local, interleaved and remote memory.
///
/// # Errors
/// When no cell can be measured.
pub fn bandwidth_plan(
    host: &Host,
    places: &MemoryPlaces,
    choice: &BandwidthChoice,
) -> Result<Plan, Cannot> {
    let planner = Planner {
        host,
        places,
        choice,
    };
    let mut cases = Vec::new();
    let mut skipped = Vec::new();
    for (from, to) in places.pairs() {
        let name = names::of_cell(from, to);
        match planner.cell(from, to, name.clone()) {
            Ok(case) => cases.push(case),
            Err(reason) => skipped.push(SkippedCase::without_advice(name, reason)),
        }
    }
    if choice.is_whole {
        cases.extend(planner.sweeps());
        cases.extend(planner.whole_machine());
    }
    let question = "What is the bandwidth from each node's CPUs to each node's memory?";
    let metric = Metric::BytesPerSecond;
    plan(names::BANDWIDTH, question, metric, cases, skipped)
}

struct Planner<'p> {
    host: &'p Host,
    places: &'p MemoryPlaces,
    choice: &'p BandwidthChoice,
}

impl Planner<'_> {
    fn cell(&self, from: NodeId, to: NodeId, name: String) -> Result<CasePlan, String> {
        let cpus = &self.places.cpus[&from];
        self.case_on(name, cpus, to)
    }

    /// Plans threads on these CPUs of one node, with memory on one node.
    fn case_on(&self, name: String, cpus: &[CpuId], to: NodeId) -> Result<CasePlan, String> {
        if let Some(reason) = self.places.without_room.get(&to) {
            return Err(reason.clone());
        }
        let bytes = self.bytes_per_thread(cpus.len(), &NodeSet::of(to))?;
        let threads = cpus
            .iter()
            .map(|cpu| thread(*cpu, Allocation::Bind(NodeSet::of(to))));
        let set: CpuSet = cpus.iter().copied().collect();
        let kernel = self.choice.kernel.name();
        Ok(CasePlan {
            name,
            about: format!("{kernel} from {} to memory of node {to}", cpu_words(&set)),
            placement: place(set, NodeSet::of(to)),
            work: Work::Stream(self.work(threads.collect(), bytes)),
        })
    }

    fn work(&self, threads: Vec<StreamThreadPlan>, bytes_per_thread: u64) -> StreamWork {
        stream_work(self.places, self.choice, threads, bytes_per_thread)
    }

    /// Returns the memory of each thread: together four times the last-level caches, if there is
    /// room.
    fn bytes_per_thread(&self, threads: usize, nodes: &NodeSet) -> Result<u64, String> {
        bytes_per_thread(self.host, self.places, threads, nodes)
    }

    /// Plans one thread, two, and so on, on every node with local memory.
    fn sweeps(&self) -> Vec<CasePlan> {
        let mut cases = Vec::new();
        for (node, cpus) in &self.places.cpus {
            if !self.places.memory_nodes.contains(*node) {
                continue;
            }
            // The matrix already has the case with all threads.
            for threads in thread_counts(cpus.len()) {
                let name = format!("threads-{threads}-on-{node}");
                cases.extend(self.case_on(name, &cpus[..threads], *node));
            }
        }
        cases
    }

    /// Returns where the memory of threads on a node lies when all CPUs work.
    fn memory_for(&self, memory: WholeMachineMemory, node: NodeId) -> Option<Allocation> {
        let nodes = &self.places.memory_nodes;
        let on = |node: Option<NodeId>| Some(Allocation::Bind(NodeSet::of(node?)));
        match memory {
            WholeMachineMemory::Local => on(self.places.own_memory(node)),
            WholeMachineMemory::Interleaved => Some(Allocation::Interleave(nodes.clone())),
            WholeMachineMemory::Remote => on(next_after(nodes, node)),
        }
    }

    /// Plans all CPUs at once. With one memory node there is no remote or interleaved memory.
    fn whole_machine(&self) -> Vec<CasePlan> {
        let nodes = &self.places.memory_nodes;
        if nodes.len() < 2 || !self.places.without_room.is_empty() {
            return Vec::new();
        }
        let cases = WHOLE_MACHINE.iter().filter_map(|(kind, memory)| {
            let threads = self.places.cpus.iter().flat_map(|(node, cpus)| {
                let allocation = self.memory_for(*memory, *node);
                let threads = cpus
                    .iter()
                    .filter_map(move |cpu| Some(thread(*cpu, allocation.clone()?)));
                threads.collect::<Vec<_>>()
            });
            let threads: Vec<StreamThreadPlan> = threads.collect();
            let cpus: CpuSet = threads.iter().map(|thread| thread.cpu).collect();
            let bytes = self.bytes_per_thread(threads.len(), nodes).ok()?;
            let kernel = self.choice.kernel.name();
            Some(CasePlan {
                name: (*kind).to_owned(),
                about: format!("{kernel} by all CPUs at once"),
                placement: model::Placement {
                    cpus: Some(cpus),
                    memory_nodes: Some(nodes.clone()),
                    mechanism: model::Mechanism::Affinity,
                },
                work: Work::Stream(self.work(threads, bytes)),
            })
        });
        cases.collect()
    }
}

fn thread(cpu: CpuId, allocation: Allocation) -> StreamThreadPlan {
    StreamThreadPlan { cpu, allocation }
}

fn bytes_per_thread(
    host: &Host,
    places: &MemoryPlaces,
    threads: usize,
    nodes: &NodeSet,
) -> Result<u64, String> {
    if places.emulated {
        return Ok(BYTES_PER_THREAD_EMULATED);
    }
    let threads = threads.max(1) as u64;
    let sharing = threads.min(places.cpus_per_cache as u64);
    let beyond_caches = places.working_set_bytes / sharing;
    let wanted = beyond_caches.max(BYTES_PER_THREAD_MIN);
    let free = nodes.iter().map(|node| host.obtainable_bytes(node));
    let Some(free) = free.sum::<Option<u64>>() else {
        return Ok(wanted);
    };
    let mut bytes = wanted;
    while bytes > BYTES_PER_THREAD_MIN && with_reserve(bytes * threads) > free {
        bytes /= 2;
    }
    let needed = with_reserve(bytes.saturating_mul(threads));
    match needed <= free {
        true => Ok(bytes),
        false => Err(format!(
            "not enough memory on {}: {} needed, {} available",
            node_words(nodes),
            model::ByteSize(needed),
            model::ByteSize(free)
        )),
    }
}

/// Returns the next node, wrapping around; `None` where there is no other.
fn next_after(nodes: &NodeSet, node: NodeId) -> Option<NodeId> {
    let after = nodes.iter().find(|other| *other > node);
    after
        .or_else(|| nodes.first())
        .filter(|other| *other != node)
}

/// Returns 1, 2, 3, 4, 6, 8, 12, 16, … below `all`.
fn thread_counts(all: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    let mut power = 1;
    while power < all {
        counts.extend([power, power + power / 2]);
        power *= 2;
    }
    counts.dedup();
    counts.retain(|count| *count < all);
    counts
}

/// Plans the latency of the local memory of every node under increasing load from its other CPUs.
///
/// # Errors
/// When no node has a CPU besides the measuring one.
pub fn loaded_plan(
    host: &Host,
    places: &MemoryPlaces,
    choice: &BandwidthChoice,
) -> Result<Plan, Cannot> {
    let mut cases = Vec::new();
    let mut skipped = Vec::new();
    for (node, cpus) in &places.cpus {
        let [measuring, others @ ..] = cpus.as_slice() else {
            continue;
        };
        let name = format!("node-{node}");
        let Some(to) = places.own_memory(*node).filter(|_| !others.is_empty()) else {
            let reason = format!("node {node} has no CPU besides the measuring one");
            skipped.push(SkippedCase::without_advice(name, reason));
            continue;
        };
        let bytes = match places.without_room.get(&to) {
            Some(reason) => Err(reason.clone()),
            None => bytes_per_thread(host, places, cpus.len() + 1, &NodeSet::of(to)),
        };
        match bytes {
            Ok(bytes) => {
                let memory = Allocation::Bind(NodeSet::of(to));
                let threads = others.iter().map(|cpu| thread(*cpu, memory.clone()));
                let load = stream_work(places, choice, threads.collect(), bytes);
                let chase = chase(places, *node, to);
                cases.extend(ladder(*node, to, *measuring, &chase, &load));
            }
            Err(reason) => skipped.push(SkippedCase::without_advice(name, reason)),
        }
    }
    let question = "What is the memory latency under load?";
    let metric = Metric::NsPerAccess;
    plan(names::LOADED, question, metric, cases, skipped)
}

fn ladder(
    node: NodeId,
    to: NodeId,
    cpu: CpuId,
    chase: &model::MemoryLatency,
    load: &StreamWork,
) -> Vec<CasePlan> {
    let case = |name: String, about: String, load: StreamWork, delay: u32| CasePlan {
        name,
        about,
        placement: place(CpuSet::of(cpu), NodeSet::of(to)),
        work: Work::LoadedLatency(LoadedLatency {
            chase: chase.clone(),
            load,
            delay,
        }),
    };
    let idle = StreamWork {
        threads: Vec::new(),
        ..load.clone()
    };
    let about = format!("CPU {cpu} of node {node} and memory of node {to}");
    let mut cases = vec![case(
        format!("node-{node}-no-load"),
        format!("{about}, no load"),
        idle,
        0,
    )];
    cases.extend(kernels::DELAYS.iter().map(|delay| {
        let name = format!("node-{node}-pause-{delay}");
        let about = format!("{about}, load with pauses of {delay}");
        case(name, about, load.clone(), *delay)
    }));
    cases
}
