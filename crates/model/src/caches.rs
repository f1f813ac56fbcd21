//! Caches of a machine: those of its CPUs, and those before the memory of its nodes.

use serde::{Deserialize, Serialize};

use crate::{CpuId, CpuSet, NodeId};

/// Caches of one level, type and size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// What it holds.
    pub kind: CacheKind,
    /// Size of each of them.
    pub size_bytes: Option<u64>,
    /// Size of a line (`coherency_line_size`).
    #[serde(default)]
    pub line_bytes: Option<u64>,
    /// For each of them, in order of first CPU, the CPUs that share it; `None` where nothing says
    /// which CPUs do, and so how many caches there are.
    pub shared_by: Option<Vec<CpuSet>>,
}

impl Cache {
    /// Whether this CPU is known to use one of them.
    pub fn is_of(&self, cpu: CpuId) -> bool {
        self.shared_by
            .iter()
            .flatten()
            .any(|cpus| cpus.contains(cpu))
    }

    /// How many of them some of these CPUs are known to use.
    pub fn count_of(&self, cpus: &CpuSet) -> usize {
        let shared_by = self.shared_by.iter().flatten();
        shared_by.filter(|shared| !shared.is_disjoint(cpus)).count()
    }
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// A cache between the processors and the memory of a node: nearer memory that holds what is used
/// of it (kernel, `Documentation/admin-guide/mm/numaperf.rst`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemorySideCache {
    /// The node whose memory is cached.
    pub node: NodeId,
    /// 1 is nearest to the memory, unlike the levels of processor caches.
    pub level: u32,
    /// `size`.
    pub size_bytes: Option<u64>,
    /// `line_size`.
    pub line_bytes: Option<u64>,
    /// `indexing`.
    pub indexing: Option<CacheIndexing>,
    /// `write_policy`.
    pub write_policy: Option<CacheWritePolicy>,
}

/// Where in a cache a line may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheIndexing {
    /// In one place.
    DirectMapped,
    /// In one of several.
    Indexed,
    /// The firmware says neither.
    Other,
}

/// When a cache passes on what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheWritePolicy {
    /// When it gives up the line.
    WriteBack,
    /// At once.
    WriteThrough,
    /// The firmware says neither.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_found_by_the_cpus_that_are_known_to_use_them() {
        let mut cache = Cache {
            level: 3,
            kind: CacheKind::Unified,
            size_bytes: None,
            line_bytes: None,
            shared_by: Some(vec!["0-3".parse().unwrap(), "4-7".parse().unwrap()]),
        };
        let cpus: CpuSet = "3-4".parse().unwrap();
        assert!(cache.is_of(CpuId(4)) && !cache.is_of(CpuId(8)));
        assert_eq!(cache.count_of(&cpus), 2);
        cache.shared_by = None;
        assert!(!cache.is_of(CpuId(4)));
        assert_eq!(cache.count_of(&cpus), 0);
    }
}
