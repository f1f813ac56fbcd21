//! Where each process may run and have memory, and how much of the memory is near it.

use std::collections::BTreeMap;

use model::{BytesByNode, NodeSet, ProcessResidency, Topology};

use super::nearness::{Nearness, local_share};
use super::threads::ProcessThreads;
use crate::instances::Member;

/// What was counted per process.
#[derive(Debug, Default)]
pub(super) struct PerProcess {
    /// Private memory.
    pub private: BTreeMap<u32, BytesByNode>,
    /// Private bytes of each process whose node is unknown: swapped out, or in frames of no known
    /// node.
    pub without_node: BTreeMap<u32, u64>,
    /// Shared memory that each process has mapped itself, where that was counted.
    pub touched: Option<BTreeMap<u32, BytesByNode>>,
    /// The same in pools.
    pub touched_pools: Option<BTreeMap<u32, BytesByNode>>,
    /// What each process has mapped as transparent huge pages, where that was counted.
    pub transparent_huge: BTreeMap<u32, u64>,
}

impl PerProcess {
    /// Forgets what was counted for a process.
    pub(super) fn forget(&mut self, pid: u32) {
        self.private.remove(&pid);
        self.without_node.remove(&pid);
        self.transparent_huge.remove(&pid);
        for counted in [&mut self.touched, &mut self.touched_pools] {
            counted.as_mut().map(|counted| counted.remove(&pid));
        }
    }
}

/// Describes one process.
pub(super) fn describe(
    member: &Member,
    topology: &Topology,
    counted: &PerProcess,
    shared: &BytesByNode,
    threads: &ProcessThreads,
) -> ProcessResidency {
    let pid = member.stat.pid;
    let status = &threads.status;
    let places = threads.threads.iter();
    let places = places.map(|thread| (thread.allowed.cpus.clone(), thread.stat.last_cpu));
    let nearness = Nearness::of(&places.collect::<Vec<_>>(), topology);
    let nodes_of_cpus: NodeSet = nearness.may.keys().copied().collect();
    let of = |map: &BTreeMap<u32, BytesByNode>| map.get(&pid).cloned();
    let private = of(&counted.private).unwrap_or_default();
    let only = nodes_of_cpus.first().filter(|_| nodes_of_cpus.len() == 1);
    ProcessResidency {
        pid,
        name: member.stat.name.clone(),
        class: member.class.clone(),
        pinned_to_node: only.filter(|_| topology.cpu_nodes().len() > 1),
        last_node: member
            .stat
            .last_cpu
            .and_then(|cpu| topology.node_of_cpu(cpu)),
        memory_nodes_allowed: status
            .allowed
            .as_ref()
            .map(|allowed| allowed.memory_nodes.clone())
            .unwrap_or_default(),
        private_local_share: local_share(&private, &nearness.may),
        private_local_share_last: local_share(&private, &nearness.last),
        shared_local_share: local_share(shared, &nearness.may),
        shared_local_share_last: local_share(shared, &nearness.last),
        private_bytes_by_node: private,
        touched_bytes_by_node: counted.touched.as_ref().and_then(of),
        touched_pool_bytes_by_node: counted.touched_pools.as_ref().and_then(of),
        transparent_huge_bytes: counted.transparent_huge.get(&pid).copied(),
        page_table_bytes: status.page_table_bytes,
        cpus: nearness.cpus,
        nodes_of_cpus,
    }
}
