//! The requested placement: CPUs, memory policy, processor group, kind of pages, and the shape of
//! the SGA. For the work done there, see `work`.
//!
//! Results are not here: see `evidence`.

use serde::{Deserialize, Serialize};

use crate::{CpuSet, EmulatedCost, NodeId, NodeSet};

/// Where processes may run and where their memory may lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// CPUs the processes may use; `None` leaves them as inherited.
    pub cpus: Option<CpuSet>,
    /// Memory nodes the processes may use (`cpuset.mems`, or the nodes of `MPOL_BIND` where no
    /// processor group can be made); `None` leaves them as inherited.
    pub memory_nodes: Option<NodeSet>,
    /// The mechanism that enforces the placement.
    pub mechanism: Mechanism,
}

impl Placement {
    /// The placement that requests nothing.
    pub fn inherited() -> Self {
        Placement {
            cpus: None,
            memory_nodes: None,
            mechanism: Mechanism::Affinity,
        }
    }

    /// Whether anything at all is requested.
    pub fn asks_for_something(&self) -> bool {
        self.cpus.is_some() || self.memory_nodes.is_some()
    }
}

/// How a placement is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// A processor group: its own cpuset cgroup, v1 or v2 (cpuset(7), cgroups(7)).
    Group,
    /// `sched_setaffinity(2)` and `set_mempolicy(2)`: needs no privilege.
    Affinity,
}

/// The shared memory of one instance, as requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SgaPlan {
    /// Bytes of blocks that the buffer cache holds; headers and directory are extra.
    pub cache_bytes: u64,
    /// The kind of shared memory object behind the SGA.
    pub backing: Backing,
    /// Requested page size.
    pub page_bytes: u64,
    /// The nodes on which to place the pages.
    pub allocation: Allocation,
}

impl SgaPlan {
    /// Bytes of a buffer cache of rows per byte that reads use: of a buffer of 8 KiB, some 256
    /// bytes, by whole lines of 64 bytes. They are the header, the line of the block's id, that of
    /// the row's key and checksum, and a share of the lines of the bucket, the index entry and the
    /// page tables (docs/instance.md, "Where the hot part lies").
    pub const BYTES_PER_BYTE_USED: u64 = 32;

    /// Returns how much memory reads of rows use, whichever rows they read, in bytes.
    pub fn bytes_used_by_rows(&self) -> u64 {
        self.cache_bytes / Self::BYTES_PER_BYTE_USED
    }
}

/// The kind of shared memory object behind an SGA. [`SgaPlan::page_bytes`] determines whether its
/// pages are huge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backing {
    /// A System V segment (`shmget(2)`), with `SHM_HUGETLB` when the pages are huge.
    Sysv,
    /// `memfd_create(2)`, with `MFD_HUGETLB` when the pages are huge.
    Memfd,
    /// A file of `/dev/shm` (tmpfs(5)), whose pages are small.
    Shm,
}

/// The nodes on which to place the pages of an SGA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "nodes")]
pub enum Allocation {
    /// No policy: the kernel decides, by the CPU that first touches a page.
    OsDefault,
    /// `MPOL_INTERLEAVE` over these nodes.
    Interleave(NodeSet),
    /// `MPOL_WEIGHTED_INTERLEAVE` over these nodes, by the kernel's weights (Linux 6.9).
    WeightedInterleave(NodeSet),
    /// `MPOL_BIND` to these nodes.
    Bind(NodeSet),
    /// `MPOL_PREFERRED`: this node, and other nodes only when it is full.
    Prefer(NodeId),
    /// NUMA-aware: a fixed area interleaved over these nodes, and for each of them a pool of
    /// buffers that prefers it.
    PerNode(NodeSet),
}

impl Allocation {
    /// The nodes it names; `None` when the kernel decides.
    pub fn nodes(&self) -> Option<NodeSet> {
        match self {
            Allocation::OsDefault => None,
            Allocation::Interleave(nodes)
            | Allocation::WeightedInterleave(nodes)
            | Allocation::Bind(nodes)
            | Allocation::PerNode(nodes) => Some(nodes.clone()),
            Allocation::Prefer(node) => Some(NodeSet::of(*node)),
        }
    }

    /// The nodes of the buffer pools, one pool each; empty when one pool serves all.
    pub fn pool_nodes(&self) -> Vec<NodeId> {
        match self {
            Allocation::PerNode(nodes) => nodes.iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// The load of one case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Sessions; each is a process.
    pub sessions: u32,
    /// Instance caging: at most this many sessions run at a time, the others queue; `None`: off.
    pub cpu_count: Option<u32>,
    /// Bytes of tables and indexes in a data file; `None`: no file, and as much data as fits into
    /// the buffer cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_bytes: Option<u64>,
    /// Percentage of statements that update the rows they read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub update_pct: u32,
    /// Percentage of its statements that a session repeats without counting them: a difference of
    /// known size, to test whether it is detected.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub handicap_pct: f64,
    /// What a read costs by the nodes of session and block: an emulated cost, which says nothing
    /// about hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated_cost: Option<EmulatedCost>,
    /// Rows per statement; `None`: determined by calibration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit: Option<u32>,
    /// A CPU quota for all processes of the instance, in CPUs; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<u32>,
}

fn is_none_of_it(share: &f64) -> bool {
    *share == 0.0
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Where the pages of private memory come from. In order of preference for a measurement: larger
/// pages add fewer page walks to the memory accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageKind {
    /// A huge-page pool (`MAP_HUGETLB`).
    Huge,
    /// Transparent huge pages (`MADV_HUGEPAGE`).
    Transparent,
    /// Pages of the kernel's base size.
    Small,
}

impl PageKind {
    /// Every kind with its name and its meaning.
    pub const TABLE: [(PageKind, &'static str, &'static str); 3] = [
        (PageKind::Huge, "huge", "huge pages from a pool"),
        (
            PageKind::Transparent,
            "transparent",
            "transparent huge pages",
        ),
        (PageKind::Small, "small", "small pages"),
    ];

    /// The name in documents and on the command line.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The meaning in words.
    pub fn meaning(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (PageKind, &'static str, &'static str) {
        let row = Self::TABLE.iter().find(|(kind, _, _)| *kind == self);
        row.expect("the table has a row for every variant")
    }
}

#[cfg(test)]
mod tests {
    use super::PageKind;

    #[test]
    fn names_are_those_of_documents() {
        for (kind, name, meaning) in PageKind::TABLE {
            assert_eq!((kind.name(), kind.meaning()), (name, meaning));
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{name}\""));
        }
    }
}
