//! The threads of a set of processes, by role: where each role may run, where its threads last ran,
//! and how much of the memory of its processes is near.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{BytesByNode, CpuSet, NodeId, NodeSet};

/// The threads of a set of processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Threads {
    /// Threads that were read.
    pub threads: u32,
    /// Threads that ended during the inspection.
    pub ended: u32,
    /// Threads that the kernel counts and that could not be read: a capture without them, or no
    /// permission.
    pub unread: u32,
    /// The roles, the one with the most threads first.
    pub roles: Vec<ThreadRole>,
    /// The first thread of each process that has several.
    pub first_threads: Vec<FirstThread>,
}

/// The threads with one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadRole {
    /// What they do; `other` for a name that no row of the table has.
    pub role: String,
    /// Their names (`comm`), with `N` in the place of a number at the end; one for `other`.
    pub names: BTreeSet<String>,
    /// The server that the row is for; `None` for `other`.
    pub server: Option<String>,
    /// Where the row is known from; `None` for `other`.
    pub source: Option<String>,
    /// Whether they read or write files or sockets for other threads.
    pub does_io: bool,
    /// Number of threads.
    pub threads: u32,
    /// Number of processes that they are in.
    pub processes: u32,
    /// CPUs that any of them may use.
    pub cpus: CpuSet,
    /// The nodes of these CPUs.
    pub nodes_of_cpus: NodeSet,
    /// Nodes that any of them may have memory on.
    pub memory_nodes_allowed: NodeSet,
    /// The CPUs that they may use, one entry for each process with several threads and each list.
    pub masks: Vec<ThreadMask>,
    /// Threads by the node of the CPU that each last ran on. The kernel counts no CPU time by node.
    pub last_seen_by_node: BTreeMap<NodeId, u32>,
    /// Threads whose last CPU is unknown, or is on no node.
    pub last_seen_unknown: u32,
    /// The policy for memory that they allocate, in the kernel's words, and how many have it.
    pub policies: BTreeMap<String, u32>,
    /// Threads whose policy is unknown.
    pub policy_unknown: u32,
    /// The shared memory of the target and the private memory of the processes of these threads.
    pub data_bytes_by_node: BytesByNode,
    /// Local share of that memory, 0 to 1, for the CPUs that the threads may use.
    pub data_local_share: Option<f64>,
    /// The same for the CPUs on which the threads last ran.
    pub data_local_share_last: Option<f64>,
}

/// CPUs that threads of one process may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadMask {
    /// The process.
    pub pid: u32,
    /// One of the threads.
    pub tid: u32,
    /// The CPUs.
    pub cpus: CpuSet,
    /// Number of threads of this role that may use exactly these.
    pub threads: u32,
}

/// The first thread of a process: it has what the process was given when it was started, unless the
/// program has changed it since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstThread {
    /// The process.
    pub pid: u32,
    /// CPUs that the thread may use.
    pub cpus: CpuSet,
    /// The policy for memory that it allocates; `None` when unknown.
    pub policy: Option<String>,
}
