//! The effects of a placement as the kernel reports them, read back during a trial or a
//! measurement.
//!
//! Requested values are never stored here. Values that could not be read are `None`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CpuSet, NodeId, NodeSet, PageKind};

/// The evidence of one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Where the pages of the SGA were found.
    pub sga: Option<SgaEvidence>,
    /// One entry for each session, in order of session number.
    pub sessions: Vec<SessionEvidence>,
    /// One entry for each database writer, in the order of their pools; empty without updates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writers: Vec<SessionEvidence>,
    /// One entry for each thread of a measuring kernel that has its own memory.
    pub measurements: Vec<MeasurementEvidence>,
    /// The processor group the sessions ran in, if one was made.
    pub group: Option<GroupEvidence>,
    /// Huge-page pools before the instance was started.
    pub huge_pages_before: Vec<HugePoolEvidence>,
    /// Huge-page pools while the instance was up.
    pub huge_pages_during: Vec<HugePoolEvidence>,
    /// Seconds from the start of the trial's processes until they were gone; for trials executed
    /// together, the share of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_s: Option<f64>,
    /// How sessions spent the time between windows, where a trial has many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<ParkedEvidence>,
    /// The case that loaded the SGA of this round, where cases that request the same memory used
    /// the same; `None`: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_of: Option<String>,
    /// Pages the kernel's NUMA balancing moved on the whole machine during the window
    /// (`numa_pages_migrated` of /proc/vmstat).
    pub numa_pages_migrated: Option<u64>,
    /// Seconds the hypervisor gave to other guests during the window, over all CPUs (`steal` of
    /// /proc/stat).
    pub steal_s: Option<f64>,
    /// Seconds of CPU time not used by the sessions during the window, over all CPUs of the machine
    /// (busy time of /proc/stat less the sessions' own; to within a few ticks of 10 ms).
    pub other_cpu_s: Option<f64>,
    /// Rows whose checksum was verified during the window.
    pub rows_verified: u64,
    /// The database server and its version; `None` for the embedded instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The database's own counts of logical reads against ours; empty for the embedded instance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterEvidence>,
    /// Where the memory of a server that a program's trial started was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_memory: Option<ServerMemory>,
    /// The number that a program printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number_read: Option<PrintedNumber>,
    /// The CPU quota, if one was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<QuotaEvidence>,
    /// The most sessions that instance caging let run at once; `None` without caging.
    pub running_sessions_max: Option<u32>,
}

/// A number that a program printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrintedNumber {
    /// The number.
    pub number: f64,
    /// Its unit: that of the experiment, or what a rate counts.
    pub unit: String,
    /// The line that it was read from; `None` where it is of a document or a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

impl fmt::Display for PrintedNumber {
    /// `60 tps from "tps 60"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PrintedNumber { number, unit, line } = self;
        write!(f, "{number} {unit}")?;
        match line {
            Some(line) => write!(f, " from {line:?}"),
            None => Ok(()),
        }
    }
}

/// Where private and shared memory of a server's processes was found, each shared page once,
/// without programs and files (/proc/PID/pagemap, or numa_maps, then a lower bound).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerMemory {
    /// Bytes by node when the server answered.
    pub bytes_by_node_before: BTreeMap<NodeId, u64>,
    /// Bytes by node after the load.
    pub bytes_by_node_after: BTreeMap<NodeId, u64>,
}

/// The time between windows, in which sessions wait while other cases run theirs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ParkedEvidence {
    /// Seconds, over all sessions.
    pub parked_s: f64,
    /// How often a session was parked.
    #[serde(default)]
    pub times: u64,
    /// CPU time that the sessions used while parked (`CLOCK_PROCESS_CPUTIME_ID`).
    pub cpu_s: f64,
    /// Length of each window, in seconds; `None` where it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_s: Option<f64>,
}

/// Where the pages of an SGA, or of one session's memory, were found (`move_pages(2)` as a query,
/// and `numa_maps`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SgaEvidence {
    /// Name of the segment as in /proc/PID/maps.
    pub name: String,
    /// Page size the kernel uses for it (`kernelpagesize_kB` of numa_maps).
    pub page_bytes: u64,
    /// Policy in the kernel's notation, the first field of its numa_maps line.
    pub policy: String,
    /// Bytes by node before the window.
    pub bytes_by_node_before: BTreeMap<NodeId, u64>,
    /// Bytes by node after the window.
    pub bytes_by_node_after: BTreeMap<NodeId, u64>,
    /// Bytes of pages for which no node was reported, before and after added up.
    pub bytes_without_node: u64,
    /// The pools of a NUMA-aware instance, in the order of their nodes; empty for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolEvidence>,
    /// The kernel's weights under weighted interleave; empty under other policies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<NodeId, u64>,
}

/// Where the buffers of one pool were found after the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolEvidence {
    /// Policy in the kernel's notation, of the pool's own line of numa_maps.
    pub policy: String,
    /// Bytes by node.
    pub bytes_by_node: BTreeMap<NodeId, u64>,
}

/// Where one session was allowed to run and where it ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEvidence {
    /// Process id.
    pub pid: u32,
    /// `Cpus_allowed_list` of /proc/PID/status.
    pub cpus_allowed: CpuSet,
    /// `Mems_allowed_list` of /proc/PID/status.
    pub memory_nodes_allowed: NodeSet,
    /// CPUs on which statements of the window ended (getcpu(2)).
    pub cpus_used: CpuSet,
    /// Policy of its private memory in the kernel's notation (get_mempolicy(2)).
    pub policy: String,
    /// Bytes of blocks that a parallel worker read in the window, by the blocks' node; empty for
    /// others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bytes_read_by_node: BTreeMap<NodeId, u64>,
    /// Where its own memory lay; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_memory: Option<SgaEvidence>,
}

/// A processor group, read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupEvidence {
    /// Directory of the cgroup.
    pub path: String,
    /// Version of the hierarchy: 1 or 2.
    pub cgroup_version: u8,
    /// `cpuset.effective_cpus` (v1) or `cpuset.cpus.effective` (v2).
    pub cpus: CpuSet,
    /// `cpuset.effective_mems` (v1) or `cpuset.mems.effective` (v2).
    pub memory_nodes: NodeSet,
}

/// The database's count of logical reads against ours, over the same calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterEvidence {
    /// The view or function that counts.
    pub source: String,
    /// What it counted.
    pub counted: u64,
    /// The expected count: statements times logical reads per statement.
    pub expected: f64,
}

/// A CPU quota, read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaEvidence {
    /// Directory of the cgroup.
    pub path: String,
    /// The quota, in CPUs.
    pub cpus: f64,
    /// Seconds for which it throttled the processes since it was created, added up over all CPUs
    /// (kernel/sched/fair.c, `unthrottle_cfs_rq`). CPU wait includes them, once for each stopped
    /// session.
    pub throttled_s: f64,
}

/// State of one huge-page pool of one node, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePoolEvidence {
    /// Node.
    pub node: NodeId,
    /// Size of a page of this pool.
    pub page_bytes: u64,
    /// `nr_hugepages`.
    pub total: u64,
    /// `free_hugepages`.
    pub free: u64,
}

/// The evidence of one measurement by one CPU on its own memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurementEvidence {
    /// CPUs the measuring thread could run on.
    pub cpus_allowed: CpuSet,
    /// CPUs it was found on, before the first window, after the last and in between.
    pub cpus_used: CpuSet,
    /// Where its memory lay before the first window.
    pub memory_before: MemoryEvidence,
    /// Where it lay after the last.
    pub memory_after: MemoryEvidence,
    /// Time the thread spent ready but not running.
    pub run_queue_wait_ns: Option<u64>,
    /// Pages the kernel's NUMA balancing moved on the whole machine during the measurement
    /// (`numa_pages_migrated` of /proc/vmstat).
    pub numa_pages_migrated: Option<u64>,
    /// Seconds the hypervisor gave to other guests during it, all CPUs (`steal` of /proc/stat).
    pub steal_s: Option<f64>,
}

/// Where one piece of private memory lies (`numa_maps` and `smaps`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEvidence {
    /// The kind of its pages; transparent only when all of them are.
    pub page_kind: PageKind,
    /// Their real size.
    pub page_bytes: u64,
    /// Policy in the kernel's notation.
    pub policy: String,
    /// Bytes by node.
    pub bytes_by_node: BTreeMap<NodeId, u64>,
    /// Bytes of pages that do not exist.
    pub bytes_without_node: u64,
}
