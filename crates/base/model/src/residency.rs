//! The words of `numalab.residency/1`: where the memory of a set of processes lies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CpuSet, Finding, NodeId, NodeSet, Relations};

/// Bytes by node.
pub type BytesByNode = BTreeMap<NodeId, u64>;

/// Where the memory of a set of processes lies, each page counted once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residency {
    /// What was asked about, as it was asked.
    pub target: String,
    /// How the pages were found.
    pub method: ResidencyMethod,
    /// Whether the figures are exact. If not, they are lower bounds, and `gaps` says why.
    pub complete: bool,
    /// What could not be seen, one sentence each.
    pub gaps: Vec<String>,
    /// Nodes of the machine that have memory.
    pub memory_nodes: NodeSet,
    /// The processes.
    pub processes: Vec<ProcessResidency>,
    /// Shared memory objects and files, the largest first.
    pub segments: Vec<SegmentResidency>,
    /// Private memory by class of process, the largest first.
    pub private: Vec<ClassResidency>,
    /// All of it: segments and private memory.
    pub bytes_by_node: BytesByNode,
    /// Bytes that exist but whose node is not known.
    pub bytes_without_node: u64,
    /// How the shared memory is laid out over the nodes.
    pub layout: Layout,
    /// What the user should know.
    pub findings: Vec<Finding>,
    /// The tables and indexes in the shared buffers of a PostgreSQL server; `None` when they were
    /// not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relations: Option<Relations>,
}

/// How pages were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResidencyMethod {
    /// Frame numbers of /proc/PID/pagemap, joined with the memory of each node: exact.
    Pagemap,
    /// The same, but large segments by some of their pages: estimates with intervals.
    PagemapSampled,
    /// /proc/PID/numa_maps of each process: a lower bound, because it shows only what the process
    /// itself has mapped, and two processes may have mapped the same pages or others.
    #[default]
    NumaMaps,
}

/// How shared memory is laid out over nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Most of it is interleaved.
    Interleaved,
    /// A pool for each of several nodes, made with a policy that names that node.
    PoolPerNode,
    /// Most of it is bound to, or prefers, one node.
    OneNode,
    /// No policy says where it is to lie.
    Default,
    /// There is no shared memory, or its policies could not be read.
    #[default]
    Unknown,
}

/// One process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessResidency {
    /// Its id.
    pub pid: u32,
    /// `comm`.
    pub name: String,
    /// What it does, for processes that a database names; otherwise its name.
    pub class: String,
    /// CPUs that one of its threads may use.
    pub cpus: CpuSet,
    /// The nodes of these CPUs.
    pub nodes_of_cpus: NodeSet,
    /// The node whose CPUs are all it may use, when the machine has others with CPUs.
    pub pinned_to_node: Option<NodeId>,
    /// The node on which its first thread ran last.
    pub last_node: Option<NodeId>,
    /// Nodes it may have memory on.
    pub memory_nodes_allowed: NodeSet,
    /// Its private memory, apart from pages that another process of the target has as well and
    /// that were counted there.
    pub private_bytes_by_node: BytesByNode,
    /// Share of that which is local, 0 to 1, expected over the CPUs that its threads may use.
    pub private_local_share: Option<f64>,
    /// The same for the CPUs on which its threads ran last.
    #[serde(default)]
    pub private_local_share_last: Option<f64>,
    /// Share of all shared memory of the target that is local to it, as for its private memory.
    pub shared_local_share: Option<f64>,
    /// The same for the CPUs on which its threads ran last.
    #[serde(default)]
    pub shared_local_share_last: Option<f64>,
    /// Shared memory that this process itself has mapped; `None` when it was not counted for each
    /// process.
    pub touched_bytes_by_node: Option<BytesByNode>,
    /// The same in the per-node pools alone.
    pub touched_pool_bytes_by_node: Option<BytesByNode>,
    /// Memory mapped as transparent huge pages; `None` where numa_maps was not read, because the
    /// kernel walks all pages to tell.
    pub transparent_huge_bytes: Option<u64>,
    /// Page tables (`VmPTE`); the kernel does not tell on which node they are.
    pub page_table_bytes: Option<u64>,
}

/// One shared object or file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SegmentResidency {
    /// Its name in /proc/PID/maps.
    pub name: String,
    /// What kind of object it is.
    pub kind: SegmentKind,
    /// What the kernel says of a System V segment.
    pub sysv: Option<SysvIdentity>,
    /// Size of its pages; `None` when no process has any.
    pub page_bytes: Option<u64>,
    /// The policy of its mappings in the kernel's words; `mixed` when it has several.
    pub policy: Option<String>,
    /// The parts with a policy of their own, when there are several.
    pub areas: Vec<SegmentArea>,
    /// How many of the processes have it mapped.
    pub processes: u32,
    /// Length of what is mapped.
    pub mapped_bytes: u64,
    /// Bytes that exist, by the kernel's own count.
    pub allocated_bytes: Option<u64>,
    /// Bytes of these that were set aside by fallocate(2) and never written: they take memory, on
    /// nodes that the kernel does not tell, and hold nothing.
    #[serde(default)]
    pub never_written_bytes: u64,
    /// Bytes found, by node.
    pub bytes_by_node: BytesByNode,
    /// Bytes that exist but whose node is not known: swapped out, or mapped by nobody.
    pub bytes_without_node: u64,
    /// Of huge pages that could not be seen, the most that may lie on each node, by what of the
    /// pools is in use; `None` when nothing is unseen, or nothing bounds it.
    #[serde(default)]
    pub unseen_at_most_by_node: Option<BytesByNode>,
    /// Whether every byte that exists was found, but for those that were never written.
    pub complete: bool,
    /// How the figures were estimated; `None` when every page was looked at.
    pub sampled: Option<Sampled>,
}

impl SegmentResidency {
    /// Bytes found on all nodes.
    pub fn bytes(&self) -> u64 {
        self.bytes_by_node.values().sum()
    }
}

/// Which System V segment it is, and who else has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SysvIdentity {
    /// The id that ipcs(1) shows.
    pub shmid: u64,
    /// The IPC namespace in which it has that id, where that is known: each numbers from 0 on.
    #[serde(default)]
    pub ipc_namespace: Option<u64>,
    /// The key by which programs find it: `0x85a066e4`.
    pub key: String,
    /// Whose it is.
    pub owner_uid: u32,
    /// Who made it.
    pub creator_pid: u32,
    /// How often it is attached, by processes of the target and others.
    pub attached: u64,
}

/// An estimate from some of the pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// Pages looked at, chosen at random, all choices equally likely.
    pub pages: u64,
    /// Those of them that were found in memory.
    pub pages_found: u64,
    /// What the choice was made from: the same seed looks at the same pages.
    pub seed: u64,
    /// The confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Half the width of the widest interval of a node's share, 0 to 1; `None` when no page was
    /// found.
    pub share_margin: Option<f64>,
    /// Each node's share of the pages in memory.
    pub share_by_node: BTreeMap<NodeId, SampledShare>,
}

/// A share and its interval: Wilson's, for each node by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledShare {
    /// The share in the sample, 0 to 1.
    pub share: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A part of a segment with its own policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SegmentArea {
    /// The policy in the kernel's words.
    pub policy: String,
    /// Length.
    pub mapped_bytes: u64,
    /// Bytes found, by node.
    pub bytes_by_node: BytesByNode,
}

/// What kind of object a segment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentKind {
    /// shmget(2): `/SYSV` and the key.
    Sysv,
    /// A file in /dev/shm.
    DevShm,
    /// memfd_create(2).
    Memfd,
    /// Shared anonymous memory: `/dev/zero`.
    SharedAnonymous,
    /// Anonymous memory in huge pages: `/anon_hugepage`, or a file of hugetlbfs.
    HugePages,
    /// A program or library.
    ProgramText,
    /// Any other mapped file.
    #[default]
    File,
}

impl SegmentKind {
    /// Every kind and its word.
    pub const TABLE: [(SegmentKind, &'static str); 7] = [
        (SegmentKind::Sysv, "System V"),
        (SegmentKind::DevShm, "/dev/shm"),
        (SegmentKind::Memfd, "memfd"),
        (SegmentKind::SharedAnonymous, "anonymous"),
        (SegmentKind::HugePages, "huge pages"),
        (SegmentKind::ProgramText, "program"),
        (SegmentKind::File, "file"),
    ];

    /// The word for people.
    pub fn word(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(kind, _)| *kind == self);
        row.expect("the table has a row for every kind").1
    }

    /// Whether it is memory shared by processes, and not the cache of a file.
    pub fn is_shared_memory(self) -> bool {
        !matches!(self, SegmentKind::ProgramText | SegmentKind::File)
    }
}

/// Private memory of the processes of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassResidency {
    /// The class.
    pub class: String,
    /// How many processes are in it.
    pub processes: u32,
    /// Their private memory.
    pub bytes_by_node: BytesByNode,
}
