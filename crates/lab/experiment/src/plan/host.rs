//! The machine that a plan is made for, and what this process may use of it: plain data.

use std::collections::BTreeMap;

use model::{CpuSet, NodeId, NodeSet, ServerKind, Topology};

use super::cannot::Cannot;

/// A machine as a planner sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// The topology of the machine.
    pub topology: Topology,
    /// CPUs this process may use (`Cpus_allowed_list`); `None` when unknown.
    pub cpus_allowed: Option<CpuSet>,
    /// Nodes this process may allocate from (`Mems_allowed_list`); `None` when unknown.
    pub memory_nodes_allowed: Option<NodeSet>,
    /// Whether processor groups can be created.
    pub groups: Support,
    /// Whether CPU quotas can be set.
    pub quotas: Support,
    /// The largest CPU quota that can be set, in CPUs; `None` without a limit.
    pub quota_cpus_max: Option<f64>,
    /// Whether memory policies can be set.
    pub policies: Support,
    /// Whether the kernel shows a process its own placement.
    pub evidence: Support,
    /// Whether the kernel also shows the node of each page of another process.
    pub evidence_of_others: Support,
    /// The databases of which no server can be started, with why and what would help.
    pub missing_servers: BTreeMap<ServerKind, String>,
    /// Bytes by node that the kernel reclaims under memory demand: the page cache. Empty when
    /// unknown; then only free memory counts.
    pub reclaimable_bytes: BTreeMap<NodeId, u64>,
    /// Free bytes by node that the kernel keeps in reserve: a program that needs them is killed.
    /// Empty when unknown.
    pub reserved_bytes: BTreeMap<NodeId, u64>,
    /// Whether the kernel supports weighted interleave.
    pub has_weighted_interleave: bool,
    /// Bytes that the control groups of this process still allow; `None` without a limit.
    pub group_left_bytes: Option<u64>,
    /// Free bytes in /dev/shm; `None` when unknown.
    pub shm_free_bytes: Option<u64>,
    /// Largest System V segment of huge pages that this process may create, in bytes; `None`
    /// without a limit.
    pub huge_segment_bytes_max: Option<u64>,
}

/// Whether a facility is available to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// It is available.
    Available,
    /// The kernel supports it, but this process is not permitted to use it.
    NotPermitted {
        /// Why, as a lower-case fragment.
        reason: String,
    },
    /// The kernel does not support it.
    Missing {
        /// Why, as a lower-case fragment.
        reason: String,
    },
}

impl Support {
    /// Returns an error unless available: `needed` says what is needed and missing.
    pub(crate) fn check(&self, needed: &str, way_out: &str) -> Result<(), Cannot> {
        let advice = |reason: &str| format!("{reason}; {way_out}");
        match self {
            Support::Available => Ok(()),
            Support::NotPermitted { reason } => Err(Cannot::not_permitted(needed, advice(reason))),
            Support::Missing { reason } => Err(Cannot::machine(needed, advice(reason))),
        }
    }
}

impl Host {
    /// Creates a host whose process may use everything, without processor groups.
    pub fn new(topology: &Topology) -> Self {
        Host {
            topology: topology.clone(),
            cpus_allowed: None,
            memory_nodes_allowed: None,
            groups: Support::Missing {
                reason: "no cgroup hierarchy was looked for".to_owned(),
            },
            quotas: Support::Available,
            quota_cpus_max: None,
            policies: Support::Available,
            evidence: Support::Available,
            evidence_of_others: Support::Available,
            missing_servers: BTreeMap::new(),
            reclaimable_bytes: BTreeMap::new(),
            reserved_bytes: BTreeMap::new(),
            has_weighted_interleave: false,
            group_left_bytes: None,
            shm_free_bytes: None,
            huge_segment_bytes_max: None,
        }
    }

    /// Returns the CPUs that are online and allowed.
    pub(crate) fn cpus(&self) -> CpuSet {
        match &self.cpus_allowed {
            Some(allowed) => self.topology.cpus.intersection(allowed),
            None => self.topology.cpus.clone(),
        }
    }

    /// Returns the CPUs to choose from when none are named: not isolated CPUs, between which the
    /// scheduler never balances, unless there are no others.
    pub(crate) fn cpus_to_choose_from(&self) -> CpuSet {
        let cpus = self.cpus();
        match &self.topology.isolated_cpus {
            Some(isolated) if !cpus.is_subset(isolated) => cpus.difference(isolated),
            _ => cpus,
        }
    }

    /// Returns the allowed nodes with memory.
    pub(crate) fn memory_nodes(&self) -> NodeSet {
        let nodes = self.topology.memory_nodes();
        match &self.memory_nodes_allowed {
            Some(allowed) => nodes.intersection(allowed),
            None => nodes,
        }
    }

    /// Returns the bytes available on a node; `None` when unknown.
    pub(crate) fn obtainable_bytes(&self, node: NodeId) -> Option<u64> {
        let free = self.topology.node(node)?.free_bytes?;
        let of_node = |bytes: &BTreeMap<_, u64>| bytes.get(&node).copied().unwrap_or(0);
        let all = free.saturating_add(of_node(&self.reclaimable_bytes));
        Some(all.saturating_sub(of_node(&self.reserved_bytes)))
    }
}
