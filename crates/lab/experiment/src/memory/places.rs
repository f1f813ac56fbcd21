//! Decides which CPUs measure which memory: what the machine has, what this process may use, and
//! what fits.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    ByteSize, Cache, CpuId, CpuSet, Mechanism, NodeId, NodeSet, PageKind, Placement, node_words,
};

use crate::plan::{Cannot, Host};

/// Working set on an emulated machine, in bytes: its figures mean nothing, its memory is slow to
/// fill, and a few pages prove a placement as well as many.
const EMULATED_BYTES: u64 = 64 << 10;

/// Which CPUs measure which memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryPlaces {
    /// The measuring CPU of each node with CPUs.
    pub measuring: BTreeMap<NodeId, CpuId>,
    /// All usable CPUs of each node with CPUs: one of each core first, then their siblings.
    pub cpus: BTreeMap<NodeId, Vec<CpuId>>,
    /// The nodes with memory.
    pub memory_nodes: NodeSet,
    /// Memory nodes without room for the working set, and why.
    pub without_room: BTreeMap<NodeId, String>,
    /// The working set, large enough to measure memory and not caches.
    pub working_set_bytes: u64,
    /// Whether to time only lines that no cache has held since they were flushed, because there is
    /// no time for laps.
    pub first_visits: bool,
    /// Size of the last-level cache of the measuring CPUs, as the kernel reports it.
    pub last_cache_bytes: Option<u64>,
    /// Number of CPUs that share a last-level cache.
    pub cpus_per_cache: usize,
    /// Page kind, the same for all nodes.
    pub page_kind: PageKind,
    /// Whether the machine is emulated.
    pub emulated: bool,
    /// The CPUs that are kept busy while the CPU of a node measures; none on an emulated machine.
    pub(crate) awake: BTreeMap<NodeId, Arc<CpuSet>>,
}

impl MemoryPlaces {
    /// Returns the places of a machine, or of its `nodes`. Pages are small until
    /// [`crate::memory::largest_pages`] tries others.
    ///
    /// # Errors
    /// When a named node does not exist, when the process may not use a node, or when no node is
    /// left.
    pub fn of(host: &Host, nodes: Option<&NodeSet>) -> Result<Self, Cannot> {
        let topology = &host.topology;
        let wanted = wanted_nodes(host, nodes)?;
        let allowed = host.cpus();
        let cpu_nodes = topology.cpu_nodes().intersection(&wanted);
        let memory_nodes = topology.memory_nodes().intersection(&wanted);
        check_allowed(host, &cpu_nodes, &memory_nodes)?;
        let mut cpus: BTreeMap<NodeId, Vec<CpuId>> = BTreeMap::new();
        for node in &cpu_nodes {
            let mut of_node = kernels::cpus_of_cores(topology, node, &allowed);
            let all = topology.node(node).map(|node| node.cpus.clone());
            let all = all.unwrap_or_default().intersection(&allowed);
            let siblings: Vec<CpuId> = all.iter().filter(|cpu| !of_node.contains(cpu)).collect();
            of_node.extend(siblings);
            cpus.insert(node, of_node);
        }
        let first_of = |(node, cpus): (&NodeId, &Vec<CpuId>)| Some((*node, *cpus.first()?));
        let measuring: BTreeMap<NodeId, CpuId> = cpus.iter().filter_map(first_of).collect();
        if measuring.is_empty() || memory_nodes.is_empty() {
            let what = if measuring.is_empty() {
                "CPUs"
            } else {
                "memory"
            };
            return Err(Cannot::machine(
                format!("no usable node has {what}"),
                "name other nodes, or run it outside this container",
            ));
        }
        let (last_cache_bytes, cpus_per_cache) = last_cache(host, measuring.values());
        let emulated = topology.emulated == Some(true);
        let keep_awake = kernels::cpus_to_keep_awake(topology, &allowed);
        let nodes = measuring.keys().filter(|_| !emulated);
        let awake = nodes
            .map(|node| (*node, Arc::new(keep_awake(*node))))
            .collect();
        let working_set_bytes = match emulated {
            true => EMULATED_BYTES,
            false => kernels::memory_working_set_bytes(last_cache_bytes),
        };
        let mut places = MemoryPlaces {
            measuring,
            cpus,
            memory_nodes,
            without_room: BTreeMap::new(),
            working_set_bytes,
            first_visits: false,
            last_cache_bytes,
            cpus_per_cache,
            page_kind: PageKind::Small,
            emulated,
            awake,
        };
        places.note_room(host);
        Ok(places)
    }

    /// Sets the working set and records which nodes have no room for it.
    pub fn set_working_set(&mut self, host: &Host, bytes: u64) {
        self.working_set_bytes = bytes;
        self.without_room.clear();
        self.note_room(host);
    }

    /// Makes trials as short as they can be: the windows time only lines that no cache has held
    /// since they were flushed, in the smallest working set. No lap precedes them.
    pub fn time_first_visits(&mut self, host: &Host) {
        self.first_visits = true;
        self.set_working_set(host, kernels::WORKING_SET_BYTES_MIN);
    }

    /// Records the nodes whose available memory is too small for the working set and its reserve.
    fn note_room(&mut self, host: &Host) {
        let needed = with_reserve(self.working_set_bytes);
        for node in &self.memory_nodes {
            let short = host.obtainable_bytes(node).filter(|free| *free < needed);
            if let Some(free) = short {
                let (needed, free) = (ByteSize(needed), ByteSize(free));
                let reason = format!(
                    "not enough memory on node {node}: {needed} needed, {free} available; free \
                     memory there"
                );
                self.without_room.insert(node, reason);
            }
        }
    }

    /// Returns the CPU that first touches memory of a node: a CPU of that node, or else the
    /// measuring one.
    pub(crate) fn home_cpu(&self, memory_node: NodeId, measuring: CpuId) -> CpuId {
        let own = self.measuring.get(&memory_node);
        own.copied().unwrap_or(measuring)
    }

    /// Returns every pair of a node with CPUs and a node with memory.
    pub fn pairs(&self) -> Vec<(NodeId, NodeId)> {
        let from = self.measuring.keys();
        let pairs = from.flat_map(|from| self.memory_nodes.iter().map(move |to| (*from, to)));
        pairs.collect()
    }

    /// Returns the memory node that counts as local to a node: itself, or else the first memory
    /// node.
    pub(crate) fn own_memory(&self, node: NodeId) -> Option<NodeId> {
        match self.memory_nodes.contains(node) {
            true => Some(node),
            false => self.memory_nodes.first(),
        }
    }
}

/// Fixed reserve besides a working set of any size, in bytes.
const RESERVE_BYTES: u64 = 16 << 20;

/// Returns the bytes of a working set with its reserve, for page tables and for other processes.
pub(crate) fn with_reserve(bytes: u64) -> u64 {
    bytes
        .saturating_add(bytes / 4)
        .saturating_add(RESERVE_BYTES)
}

/// Returns the largest working set that fits in this much memory together with its reserve.
pub(crate) fn without_reserve(bytes: u64) -> u64 {
    bytes.saturating_sub(RESERVE_BYTES) / 5 * 4
}

/// Returns the placement of CPUs and memory nodes, by affinity and memory policy.
pub(crate) fn place(cpus: CpuSet, memory_nodes: NodeSet) -> Placement {
    Placement {
        cpus: Some(cpus),
        memory_nodes: Some(memory_nodes),
        mechanism: Mechanism::Affinity,
    }
}

fn wanted_nodes(host: &Host, nodes: Option<&NodeSet>) -> Result<NodeSet, Cannot> {
    let all = host.topology.node_ids();
    let Some(nodes) = nodes else {
        return Ok(all);
    };
    let unknown = nodes.difference(&all);
    match unknown.is_empty() {
        true => Ok(nodes.clone()),
        false => Err(Cannot::usage(
            format!(
                "node {unknown} does not exist: this machine has {}",
                node_words(all)
            ),
            "name existing nodes (`numalab topology` lists them)",
        )),
    }
}

/// Rejects nodes that a cpuset forbids to this process: leaving them out silently would make the
/// matrix look complete.
fn check_allowed(host: &Host, cpu_nodes: &NodeSet, memory_nodes: &NodeSet) -> Result<(), Cannot> {
    let allowed = host.cpus();
    let is_forbidden = |node: &NodeId| {
        let node = host.topology.node(*node);
        node.is_some_and(|node| node.cpus.is_disjoint(&allowed))
    };
    let without_cpus: NodeSet = cpu_nodes.iter().filter(is_forbidden).collect();
    let without_memory = match &host.memory_nodes_allowed {
        Some(allowed) => memory_nodes.difference(allowed),
        None => NodeSet::new(),
    };
    let forbidden: NodeSet = without_cpus.union(&without_memory);
    if forbidden.is_empty() {
        return Ok(());
    }
    let mut what = Vec::new();
    for (set, kind) in [(&without_memory, "memory"), (&without_cpus, "the CPUs")] {
        if !set.is_empty() {
            what.push(format!("{kind} of {}", node_words(set)));
        }
    }
    let usable = cpu_nodes.union(memory_nodes).difference(&forbidden);
    let advice = match usable.is_empty() {
        true => "run it where all nodes are allowed".to_owned(),
        false => format!(
            "run it where all nodes are allowed, or measure what is allowed with --nodes {usable}"
        ),
    };
    Err(Cannot::not_permitted(
        format!(
            "this process may not use {}: a cpuset or its affinity forbids it",
            what.join(" and ")
        ),
        advice,
    ))
}

/// Returns the largest last-level cache of these CPUs, and how many CPUs share one. A cache with
/// unknown sharers may be theirs.
fn last_cache<'c>(host: &Host, cpus: impl Iterator<Item = &'c CpuId>) -> (Option<u64>, usize) {
    let cpus: CpuSet = cpus.copied().collect();
    let caches = host.topology.caches.iter();
    let may_be_theirs = |cache: &Cache| cache.shared_by.is_none() || cache.count_of(&cpus) > 0;
    let of_these = caches.filter(|cache| cache.holds_data() && may_be_theirs(cache));
    let last = of_these.max_by_key(|cache| (cache.level, cache.size_bytes));
    let sharing = last.and_then(|cache| cache.shared_by.iter().flatten().map(CpuSet::len).max());
    (
        last.and_then(|cache| cache.size_bytes),
        sharing.unwrap_or(1).max(1),
    )
}
