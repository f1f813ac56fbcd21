//! The types of `numalab.snapshot/1`: a machine and its processes at one moment. Counters are those
//! of the kernel; rates come from two snapshots.

use serde::{Deserialize, Serialize};

use crate::{BytesByNode, CpuId, CpuSet, NodeHugePages, NodeId, NodeSet};

/// A machine and its processes at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When it was taken, in seconds since 1970-01-01 UTC.
    pub taken_at_s: f64,
    /// Seconds since the machine booted (/proc/uptime); rates are taken over this clock, which
    /// nobody sets.
    pub uptime_s: f64,
    /// The nodes, by ascending id.
    pub nodes: Vec<NodeSnapshot>,
    /// Pressure stall information of the machine (/proc/pressure).
    pub pressure: Pressure,
    /// Counters of the whole machine.
    pub counters: MachineSnapshot,
    /// Processes of the target, or of the machine, by ascending id. Kernel threads are left out.
    pub processes: Vec<ProcessSnapshot>,
    /// Databases and the processes of each, by name.
    pub instances: Vec<InstanceSnapshot>,
    /// Threads and segments of what the reader has opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<OpenedSnapshot>,
    /// What could not be read, one sentence each.
    pub gaps: Vec<String>,
    /// What taking it cost: CPU seconds of this process.
    pub cost_s: f64,
}

/// A node at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeSnapshot {
    /// Its id.
    pub id: NodeId,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// `MemTotal` of the node.
    pub memory_bytes: Option<u64>,
    /// `MemFree` of the node.
    pub free_bytes: Option<u64>,
    /// `FilePages` of the node without its `Shmem`: page cache that the kernel can drop or write
    /// back.
    pub page_cache_bytes: Option<u64>,
    /// `AnonPages` of the node.
    pub anonymous_bytes: Option<u64>,
    /// `Shmem` of the node: shared memory and tmpfs in pages of the usual size.
    pub shared_bytes: Option<u64>,
    /// The huge-page pools of the node, by ascending page size.
    pub huge_pages: Vec<NodeHugePages>,
    /// Pages allocated since boot.
    pub allocations: Option<Allocations>,
    /// Seconds that the CPUs of the node have worked since boot, over all of them (/proc/stat).
    pub cpu_busy_s: Option<f64>,
}

/// Counters of a node's numastat: pages since boot (kernel,
/// `Documentation/admin-guide/numastat.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocations {
    /// Intended for this node and allocated here.
    pub hit: u64,
    /// Intended for another node but allocated here.
    pub miss: u64,
    /// Intended for this node but allocated elsewhere.
    pub foreign: u64,
}

/// Pressure stall information (kernel, `Documentation/accounting/psi.rst`): the share of the last
/// ten seconds in which tasks waited, 0 to 1. `None` in a kernel without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Some task waited for a CPU.
    pub cpu_some: Option<f64>,
    /// Some task waited for memory.
    pub memory_some: Option<f64>,
    /// All tasks waited for memory.
    pub memory_full: Option<f64>,
}

/// Counters of the whole machine since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineSnapshot {
    /// Seconds that other guests of the hypervisor had while a CPU here was ready.
    pub steal_s: Option<f64>,
    /// Pages that NUMA balancing moved (`numa_pages_migrated` of /proc/vmstat).
    pub numa_pages_migrated: Option<u64>,
    /// Page faults by which NUMA balancing looks where memory is used (`numa_hint_faults`).
    pub numa_hint_faults: Option<u64>,
    /// Of these, on the node of the page (`numa_hint_faults_local`).
    pub numa_hint_faults_local: Option<u64>,
    /// Pages moved between nodes for any reason (`pgmigrate_success`).
    pub pages_migrated: Option<u64>,
}

/// A process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessSnapshot {
    /// Its id.
    pub pid: u32,
    /// Its start in clock ticks since boot: distinguishes it from later processes with its id.
    pub start_ticks: u64,
    /// `comm`, at most 15 bytes.
    pub name: String,
    /// Its parent; `None` where it has none that is seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Its effective user: the name, or the id where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The start of its command line, or of the title that a server gave itself, such as
    /// `postgres: walwriter`. Only for who watches: it may hold secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Path of its cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_group: Option<String>,
    /// Number of threads.
    pub threads: u32,
    /// CPU seconds of all its threads since its start.
    pub cpu_s: f64,
    /// The CPU that its first thread last ran on.
    pub last_cpu: Option<CpuId>,
    /// CPUs that it may run on.
    pub cpus_allowed: Option<CpuSet>,
    /// Nodes that it may have memory on.
    pub memory_nodes_allowed: Option<NodeSet>,
    /// Resident memory with shared memory that it has mapped (`VmRSS` and `HugetlbPages`).
    pub resident_bytes: Option<u64>,
    /// Where its memory lies, when it was last looked at.
    pub memory: Option<MemorySnapshot>,
}

/// Where memory lies, and when that was found out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemorySnapshot {
    /// Bytes by node.
    pub bytes_by_node: BytesByNode,
    /// How it was found.
    pub source: MemorySource,
    /// Processes that were looked at.
    pub processes: u32,
    /// Whether it is all memory of the process or instance. If not, it is a lower bound, and the
    /// shares of nodes are those of what was seen: of an instance, only a look at the frames of its
    /// pages finds those that no living process has touched itself.
    #[serde(default)]
    pub complete: bool,
    /// When it was looked at, on the clock of [`Snapshot::uptime_s`].
    pub looked_at_s: f64,
}

/// Where figures of memory by node come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemorySource {
    /// `memory.numa_stat` of a cgroup: cheap; what the cgroup was charged for, without huge pages
    /// of hugetlbfs.
    ControlGroup,
    /// /proc/PID/numa_maps: what the process itself has mapped.
    #[default]
    NumaMaps,
    /// The full look of `numalab inspect`: exact where the kernel shows frames.
    Inspect,
    /// Resident memory of a machine with one node, where else could it be.
    OnlyNode,
}

/// A database instance at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstanceSnapshot {
    /// Its name as a target, such as `postgres:/data`.
    pub name: String,
    /// Ids of its processes, ascending.
    pub pids: Vec<u32>,
    /// Where its memory lies, each shared page counted once.
    pub memory: Option<MemorySnapshot>,
}

/// The process or instance that a reader has opened, in more detail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenedSnapshot {
    /// Which one.
    pub subject: OpenedSubject,
    /// Threads of the process, by ascending id; none of an instance.
    pub threads: Vec<ThreadSnapshot>,
    /// Threads that are not in the list.
    pub threads_left_out: u64,
    /// Private memory and shared objects that were found when its memory was last looked at, the
    /// largest first; `None` until then.
    pub segments: Option<Vec<SegmentSnapshot>>,
    /// Shared objects that are not in the list.
    pub segments_left_out: u64,
}

/// What a reader has opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenedSubject {
    /// The process with this id.
    Process(u32),
    /// The instance of this name.
    Instance(String),
}

impl Default for OpenedSubject {
    fn default() -> Self {
        Self::Process(0)
    }
}

/// A thread at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadSnapshot {
    /// Its id.
    pub tid: u32,
    /// Its start in clock ticks since boot.
    pub start_ticks: u64,
    /// `comm`, at most 15 bytes.
    pub name: String,
    /// Its CPU seconds since its start.
    pub cpu_s: f64,
    /// The CPU that it last ran on.
    pub last_cpu: Option<CpuId>,
}

/// Memory with one name, as numa_maps has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentSnapshot {
    /// The file or segment; `None` for private memory without a name.
    pub name: Option<String>,
    /// Bytes by node.
    pub bytes_by_node: BytesByNode,
}
