//! The machine a plan is made for, and what this process may use of it: plain data.

use std::collections::BTreeMap;

use model::{CpuSet, NodeId, NodeSet, Topology};

use super::cannot::Cannot;

/// A machine as a planner sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Host<'m> {
    /// What the machine is.
    pub topology: &'m Topology,
    /// CPUs this process may use (`Cpus_allowed_list`); `None` when it is not known.
    pub cpus_allowed: Option<CpuSet>,
    /// Nodes it may take memory from (`Mems_allowed_list`); `None` when it is not known.
    pub memory_nodes_allowed: Option<NodeSet>,
    /// Whether processor groups can be made.
    pub groups: Support,
    /// Whether CPU quotas can be set.
    pub quotas: Support,
    /// The most CPUs that a quota can give; `None` without a limit.
    pub quota_cpus_max: Option<f64>,
    /// Whether memory policies can be set.
    pub policies: Support,
    /// Whether the kernel shows a process what came of its placement.
    pub evidence: Support,
    /// Whether it also shows where the pages of another process are, one by one.
    pub evidence_of_others: Support,
    /// Why no PostgreSQL server can be started; `None` when one can.
    pub no_postgres: Option<String>,
    /// Size of an ordinary page.
    pub base_page_bytes: u64,
    /// Bytes by node that are not free but that the kernel gives up when asked for memory: its
    /// cache of files. Empty when it is not known, and then only free memory counts.
    pub reclaimable_bytes: BTreeMap<NodeId, u64>,
    /// Bytes by node that are free but that the kernel keeps for itself: a program that insists on
    /// them is killed. Empty when it is not known.
    pub reserved_bytes: BTreeMap<NodeId, u64>,
    /// Whether the kernel knows weighted interleave.
    pub has_weighted_interleave: bool,
    /// Bytes that the control groups of this process still allow it; `None` without a limit.
    pub group_left_bytes: Option<u64>,
    /// Bytes that are free in /dev/shm; `None` when it is not known.
    pub shm_free_bytes: Option<u64>,
    /// The most bytes of a System V segment of huge pages that this process may make; `None`
    /// without a limit.
    pub huge_segment_bytes_max: Option<u64>,
}

/// Whether this process can have something done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// It can.
    Available,
    /// The kernel could, but this process may not.
    NotPermitted {
        /// Why, as a lower-case fragment.
        reason: String,
    },
    /// The kernel cannot.
    Missing {
        /// Why, as a lower-case fragment.
        reason: String,
    },
}

impl Support {
    /// An error unless it can: `needed` says what is needed and not there.
    pub(crate) fn check(&self, needed: &str, way_out: &str) -> Result<(), Cannot> {
        let advice = |reason: &str| format!("{reason}; {way_out}");
        match self {
            Support::Available => Ok(()),
            Support::NotPermitted { reason } => Err(Cannot::not_permitted(needed, advice(reason))),
            Support::Missing { reason } => Err(Cannot::machine(needed, advice(reason))),
        }
    }
}

impl<'m> Host<'m> {
    /// A host whose process may use everything, with 4 KiB pages and without processor groups.
    pub fn new(topology: &'m Topology) -> Self {
        Host {
            topology,
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
            no_postgres: None,
            base_page_bytes: 4096,
            reclaimable_bytes: BTreeMap::new(),
            reserved_bytes: BTreeMap::new(),
            has_weighted_interleave: false,
            group_left_bytes: None,
            shm_free_bytes: None,
            huge_segment_bytes_max: None,
        }
    }

    /// The CPUs that are online and allowed.
    pub(crate) fn cpus(&self) -> CpuSet {
        match &self.cpus_allowed {
            Some(allowed) => self.topology.cpus.intersection(allowed),
            None => self.topology.cpus.clone(),
        }
    }

    /// The CPUs to choose from when none are named: not those that were taken away from the
    /// scheduler, between which it never balances, unless there are no others.
    pub(crate) fn cpus_to_choose_from(&self) -> CpuSet {
        let cpus = self.cpus();
        match &self.topology.isolated_cpus {
            Some(isolated) if !cpus.is_subset(isolated) => cpus.difference(isolated),
            _ => cpus,
        }
    }

    /// The nodes with memory that are allowed.
    pub(crate) fn memory_nodes(&self) -> NodeSet {
        let nodes = self.topology.memory_nodes();
        match &self.memory_nodes_allowed {
            Some(allowed) => nodes.intersection(allowed),
            None => nodes,
        }
    }

    /// Bytes available on a node; `None` when it is not known.
    pub(crate) fn obtainable_bytes(&self, node: NodeId) -> Option<u64> {
        let free = self.topology.node(node)?.free_bytes?;
        let of_node = |bytes: &BTreeMap<_, u64>| bytes.get(&node).copied().unwrap_or(0);
        let all = free.saturating_add(of_node(&self.reclaimable_bytes));
        Some(all.saturating_sub(of_node(&self.reserved_bytes)))
    }
}
