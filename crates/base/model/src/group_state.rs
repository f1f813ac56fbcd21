//! The types of `numalab.groups/1`: processor groups, their members and where their memory lies.

use serde::{Deserialize, Serialize};

use crate::{BytesByNode, CpuSet, NodeSet};

/// One processor group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupState {
    /// Its name.
    pub name: String,
    /// Its directories: the cpuset first, then that of its CPU limit if different.
    pub directories: Vec<String>,
    /// Its systemd unit.
    pub unit: Option<String>,
    /// 1 or 2.
    pub cgroup_version: u8,
    /// CPUs it may use in effect.
    pub cpus: CpuSet,
    /// Nodes on which it may have memory in effect.
    pub memory_nodes: NodeSet,
    /// CPU limit, in CPUs; `None` without a limit.
    pub cpu_limit: Option<f64>,
    /// Its processes.
    pub members: Vec<GroupMember>,
    /// Their private and shared memory, each page counted once; `None` when it was not inspected.
    pub bytes_by_node: Option<BytesByNode>,
    /// Whether the figures are exact.
    pub complete: bool,
    /// What could not be seen, one sentence each.
    pub gaps: Vec<String>,
}

/// One process of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMember {
    /// Its id.
    pub pid: u32,
    /// `comm`; `None` when it ended during the inspection.
    pub name: Option<String>,
}
