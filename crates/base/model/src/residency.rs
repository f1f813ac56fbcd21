//! The types of `numalab.residency/1`: where the memory of a set of processes lies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BytesByNode, CpuSet, Finding, NodeId, NodeSet, ServerKind, Threads};

/// Where the memory of a set of processes lies, each page counted once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residency {
    /// The target, as requested.
    pub target: String,
    /// How the pages were found.
    pub method: ResidencyMethod,
    /// Whether the figures are exact. If not, they are lower bounds, and `gaps` says why.
    pub complete: bool,
    /// Reasons why figures are incomplete, one sentence each.
    pub gaps: Vec<String>,
    /// Nodes of the machine that have memory.
    pub memory_nodes: NodeSet,
    /// The processes.
    pub processes: Vec<ProcessResidency>,
    /// Shared memory objects and files, the largest first.
    pub segments: Vec<SegmentResidency>,
    /// Private memory by class of process, the largest first.
    pub private: Vec<ClassResidency>,
    /// The total: segments and private memory.
    pub bytes_by_node: BytesByNode,
    /// Allocated bytes whose node is unknown.
    pub bytes_without_node: u64,
    /// How the shared memory is laid out over the nodes.
    pub layout: Layout,
    /// The threads of the processes by role; `None` in documents of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<Threads>,
    /// What the user should know.
    pub findings: Vec<Finding>,
    /// The tables and indexes in the shared buffers of a PostgreSQL server; `None` when not
    /// requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relations: Option<Relations>,
}

/// How pages were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResidencyMethod {
    /// Frame numbers of /proc/PID/pagemap, joined with the memory of each node: exact.
    Pagemap,
    /// The same, but large segments are sampled: estimates with intervals.
    PagemapSampled,
    /// /proc/PID/numa_maps of each process: a lower bound, because it shows only pages that the
    /// process itself has mapped, and whether two processes map the same pages is unknown.
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
    /// No policy places it.
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
    /// Its function, for processes that a database names; otherwise its name.
    pub class: String,
    /// CPUs that any of its threads may use.
    pub cpus: CpuSet,
    /// The nodes of these CPUs.
    pub nodes_of_cpus: NodeSet,
    /// The only node whose CPUs it may use, when the machine has other nodes with CPUs.
    pub pinned_to_node: Option<NodeId>,
    /// The node on which its first thread last ran.
    pub last_node: Option<NodeId>,
    /// Nodes it may have memory on.
    pub memory_nodes_allowed: NodeSet,
    /// Its private memory, except for pages shared with another process of the target and counted
    /// there.
    pub private_bytes_by_node: BytesByNode,
    /// Local share of that memory, 0 to 1, expected over the CPUs that its threads may use.
    pub private_local_share: Option<f64>,
    /// The same for the CPUs on which its threads last ran.
    #[serde(default)]
    pub private_local_share_last: Option<f64>,
    /// Local share of all shared memory of the target, computed as for its private memory.
    pub shared_local_share: Option<f64>,
    /// The same for the CPUs on which its threads last ran.
    #[serde(default)]
    pub shared_local_share_last: Option<f64>,
    /// Shared memory that this process itself has mapped; `None` when it was not counted per
    /// process.
    pub touched_bytes_by_node: Option<BytesByNode>,
    /// The same in the per-node pools alone.
    pub touched_pool_bytes_by_node: Option<BytesByNode>,
    /// Memory mapped as transparent huge pages; `None` where numa_maps was not read, because the
    /// kernel would have to walk all pages.
    pub transparent_huge_bytes: Option<u64>,
    /// Page tables (`VmPTE`); the kernel does not report their nodes.
    pub page_table_bytes: Option<u64>,
}

/// One shared object or file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SegmentResidency {
    /// Its name in /proc/PID/maps.
    pub name: String,
    /// What kind of object it is.
    pub kind: SegmentKind,
    /// The kernel's record of a System V segment.
    pub sysv: Option<SysvIdentity>,
    /// Size of its pages; `None` when no process has any.
    pub page_bytes: Option<u64>,
    /// The policy of its mappings in the kernel's notation; `mixed` when it has several.
    pub policy: Option<String>,
    /// The parts with their own policies, when there are several.
    pub areas: Vec<SegmentArea>,
    /// Number of processes that map it.
    pub processes: u32,
    /// Length of its mappings.
    pub mapped_bytes: u64,
    /// Allocated bytes, by the kernel's own count.
    pub allocated_bytes: Option<u64>,
    /// The part of these that fallocate(2) reserved and no process ever wrote: it takes memory, on
    /// nodes that the kernel does not report, and holds nothing.
    #[serde(default)]
    pub never_written_bytes: u64,
    /// Bytes found, by node.
    pub bytes_by_node: BytesByNode,
    /// Allocated bytes whose node is unknown: swapped out, or mapped by no process.
    pub bytes_without_node: u64,
    /// Upper bound of the unseen huge pages on each node, from the pool pages in use there; `None`
    /// when nothing is unseen, or nothing bounds it.
    #[serde(default)]
    pub unseen_at_most_by_node: Option<BytesByNode>,
    /// Whether every allocated byte was found, except for those never written.
    pub complete: bool,
    /// How the figures were estimated; `None` when every page was inspected.
    pub sampled: Option<Sampled>,
}

impl SegmentResidency {
    /// Bytes found on all nodes.
    pub fn bytes(&self) -> u64 {
        self.bytes_by_node.values().sum()
    }
}

/// The identity of a System V segment, and who else uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SysvIdentity {
    /// The id that ipcs(1) shows.
    pub shmid: u64,
    /// The IPC namespace in which it has that id, if known: each namespace counts from 0.
    #[serde(default)]
    pub ipc_namespace: Option<u64>,
    /// The key by which programs find it: `0x85a066e4`.
    pub key: String,
    /// The user who owns it.
    pub owner_uid: u32,
    /// The process that created it.
    pub creator_pid: u32,
    /// Number of attaches, by processes of the target and others.
    pub attached: u64,
}

/// An estimate from a sample of the pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// Pages sampled, uniformly at random.
    pub pages: u64,
    /// Sampled pages that were found in memory.
    pub pages_found: u64,
    /// Seed of the sample: the same seed selects the same pages.
    pub seed: u64,
    /// The confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Half the width of the widest interval of a node's share, 0 to 1; `None` when no page was
    /// found.
    pub share_margin: Option<f64>,
    /// Each node's share of the pages in memory.
    pub share_by_node: BTreeMap<NodeId, SampledShare>,
}

/// A share and its Wilson interval, for each node separately.
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
    /// The policy in the kernel's notation.
    pub policy: String,
    /// Length.
    pub mapped_bytes: u64,
    /// Bytes found, by node.
    pub bytes_by_node: BytesByNode,
}

/// The kind of object behind a segment.
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
    /// Every kind and its name.
    pub const TABLE: [(SegmentKind, &'static str); 7] = [
        (SegmentKind::Sysv, "System V"),
        (SegmentKind::DevShm, "/dev/shm"),
        (SegmentKind::Memfd, "memfd"),
        (SegmentKind::SharedAnonymous, "anonymous"),
        (SegmentKind::HugePages, "huge pages"),
        (SegmentKind::ProgramText, "program"),
        (SegmentKind::File, "file"),
    ];

    /// The name for people.
    pub fn word(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(kind, _)| *kind == self);
        row.expect("the table has a row for every kind").1
    }

    /// Whether it is memory shared by processes, rather than the cache of a file.
    pub fn is_shared_memory(self) -> bool {
        !matches!(self, SegmentKind::ProgramText | SegmentKind::File)
    }
}

/// Private memory of the processes of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassResidency {
    /// The class.
    pub class: String,
    /// Number of its processes.
    pub processes: u32,
    /// Their private memory.
    pub bytes_by_node: BytesByNode,
}

/// The blocks in the shared buffers of a server, by relation and node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relations {
    /// Which database it is; `None`, as in older documents: PostgreSQL.
    #[serde(default)]
    pub server: Option<ServerKind>,
    /// Version of the server, as it reports it; empty if it was not asked.
    pub server_version: String,
    /// Size of a block, and of a buffer.
    pub block_bytes: u64,
    /// Size of the pages that contain the buffers; `None` when no process shows it.
    pub page_bytes: Option<u64>,
    /// Shared buffers.
    pub buffers: u64,
    /// Buffers that hold a block.
    pub buffers_used: u64,
    /// Bytes of used buffers by node.
    pub bytes_by_node: BytesByNode,
    /// Bytes of used buffers whose node is unknown.
    pub bytes_without_node: u64,
    /// Every relation with a block in the buffers, the largest first.
    pub relations: Vec<RelationResidency>,
    /// Databases that have blocks there and did not accept our connection to look up names.
    pub databases_without_names: Vec<String>,
    /// Comparison with the server's own view.
    pub server_view: ServerView,
}

/// One table, index or other relation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RelationResidency {
    /// Its database; `None` for relations shared by all databases.
    pub database: Option<String>,
    /// Schema and name; `None` without a catalog entry (dropped, or being created).
    pub name: Option<String>,
    /// `table`, `index`, `toast table` ...; `None` as for the name.
    pub kind: Option<String>,
    /// Name of its file; of InnoDB, the id of its tablespace.
    pub filenode: u32,
    /// Buffers that hold a block of it.
    pub buffers: u64,
    /// Size of these buffers.
    pub bytes: u64,
    /// Their bytes by node.
    pub bytes_by_node: BytesByNode,
    /// Their bytes whose node is unknown.
    pub bytes_without_node: u64,
    /// Bytes on the fullest node in excess of an even distribution over the memory nodes.
    pub bytes_beyond_even: u64,
}

/// The server's own view of its cache, compared page by page with ours: `pg_buffercache_numa`, or
/// `INNODB_BUFFER_PAGE`, which knows no nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum ServerView {
    /// The server has no such view: it is older than 18, or its extension is.
    #[default]
    Absent,
    /// The server was built without libnuma, or the kernel has no NUMA.
    WithoutLibnuma,
    /// The server has it, but it was not queried.
    NotAsked,
    /// It was queried.
    Compared {
        /// Pages whose node both know.
        pages: u64,
        /// Pages for which both report different nodes.
        differing: u64,
        /// Pages whose node only one of them knows.
        unknown: u64,
    },
    /// It was queried, and names the pages that it has.
    PagesCompared {
        /// Pages that both know.
        both: u64,
        /// Pages that were found in its memory, and it does not name.
        only_found: u64,
        /// Pages that it names, and were not found.
        only_said: u64,
        /// Pages that it has and does not name.
        unnamed: u64,
    },
    /// The server did not answer, so some names are unknown.
    Unanswered {
        /// Why.
        why: String,
    },
}
