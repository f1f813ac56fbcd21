//! Caches of a machine: those of its CPUs, and those in front of the memory of its nodes.

use serde::{Deserialize, Serialize};

use crate::{CpuId, CpuSet, NodeId};

/// Caches of one level, type and size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// What it holds.
    pub kind: CacheKind,
    /// Size of each cache.
    pub size_bytes: Option<u64>,
    /// Size of a line (`coherency_line_size`).
    #[serde(default)]
    pub line_bytes: Option<u64>,
    /// For each cache, in order of first CPU, the CPUs that share it; `None` where it is unknown
    /// which CPUs do, and so how many caches there are.
    pub shared_by: Option<Vec<CpuSet>>,
}

impl Cache {
    /// Whether it can hold data.
    pub fn holds_data(&self) -> bool {
        matches!(self.kind, CacheKind::Data | CacheKind::Unified)
    }

    /// Whether this CPU is known to use one of these caches.
    pub fn is_of(&self, cpu: CpuId) -> bool {
        self.shared_by
            .iter()
            .flatten()
            .any(|cpus| cpus.contains(cpu))
    }

    /// How many of these caches the given CPUs are known to use.
    pub fn count_of(&self, cpus: &CpuSet) -> usize {
        let shared_by = self.shared_by.iter().flatten();
        shared_by.filter(|shared| !shared.is_disjoint(cpus)).count()
    }
}

/// Sets the size of the last-level caches to the one that a user named, and returns the largest
/// previous size. Where no cache is known, adds one with unknown sharing.
pub fn name_last_level_cache(caches: &mut Vec<Cache>, bytes: u64) -> NamedCache {
    let last = caches.iter().filter(|cache| cache.holds_data());
    let Some(last) = last.map(|cache| cache.level).max() else {
        caches.push(Cache {
            level: 3,
            kind: CacheKind::Unified,
            size_bytes: Some(bytes),
            line_bytes: None,
            shared_by: None,
        });
        return NamedCache {
            bytes,
            shown_bytes: None,
            source: CacheSizeSource::Option,
        };
    };
    let mut shown_bytes = None;
    for cache in caches {
        if cache.level == last && cache.holds_data() {
            shown_bytes = shown_bytes.max(cache.size_bytes);
            cache.size_bytes = Some(bytes);
        }
    }
    NamedCache {
        bytes,
        shown_bytes,
        source: CacheSizeSource::Option,
    }
}

/// Reduces the size of last-level caches that the kernel reports larger than measured, and returns
/// the largest previous size. `None`, with nothing changed, where no size is reported.
pub fn shrink_last_level_cache(caches: &mut [Cache], measured_bytes: u64) -> Option<NamedCache> {
    let holds_data = caches.iter().filter(|cache| cache.holds_data());
    let last = holds_data.map(|cache| cache.level).max()?;
    let of_last = caches.iter_mut().filter(|cache| cache.level == last);
    let sizes = of_last.filter(|cache| cache.holds_data());
    let sizes: Vec<&mut u64> = sizes.filter_map(|it| it.size_bytes.as_mut()).collect();
    let shown_bytes = sizes.iter().map(|size| **size).max()?;
    for size in sizes {
        *size = measured_bytes.min(*size);
    }
    Some(NamedCache {
        bytes: measured_bytes.min(shown_bytes),
        shown_bytes: Some(shown_bytes),
        source: CacheSizeSource::Measured,
    })
}

/// The size of last-level caches used for planning in place of the size that the kernel reports,
/// which in a virtual machine is often that of the host's whole cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCache {
    /// The size used for planning.
    pub bytes: u64,
    /// The largest size that the kernel reports.
    pub shown_bytes: Option<u64>,
    /// Its source. Documents without it were written when only a user could name the size.
    #[serde(default)]
    pub source: CacheSizeSource,
}

/// The source of a cache size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheSizeSource {
    /// The user named it: `--last-level-cache`.
    #[default]
    Option,
    /// It was measured before the run was planned.
    Measured,
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

/// A cache between the processors and the memory of a node: nearer memory that caches it (kernel,
/// `Documentation/admin-guide/mm/numaperf.rst`).
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

/// Where a line may be placed in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheIndexing {
    /// In one place.
    DirectMapped,
    /// In one of several.
    Indexed,
    /// The firmware reports neither.
    Other,
}

/// When a cache writes data back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheWritePolicy {
    /// On eviction of the line.
    WriteBack,
    /// Immediately.
    WriteThrough,
    /// The firmware reports neither.
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

    #[test]
    fn a_named_size_replaces_that_of_the_last_level_only() {
        let cache = |level, kind, size_bytes| Cache {
            level,
            kind,
            size_bytes,
            line_bytes: None,
            shared_by: None,
        };
        let check = |mut caches: Vec<Cache>, shown_bytes, sizes: &[Option<u64>]| {
            let named = name_last_level_cache(&mut caches, 7);
            let expected = NamedCache {
                bytes: 7,
                shown_bytes,
                source: CacheSizeSource::Option,
            };
            assert_eq!(named, expected);
            let found: Vec<_> = caches.iter().map(|cache| cache.size_bytes).collect();
            assert_eq!(found, sizes);
        };
        let first = cache(1, CacheKind::Data, Some(1));
        let last = |size| cache(3, CacheKind::Unified, size);
        let of_code = cache(4, CacheKind::Instruction, Some(9));
        check(
            vec![first.clone(), last(Some(300)), last(Some(200)), of_code],
            Some(300),
            &[Some(1), Some(7), Some(7), Some(9)],
        );
        check(vec![first, last(None)], None, &[Some(1), Some(7)]);
        check(vec![], None, &[Some(7)]);
    }

    #[test]
    fn a_measured_size_makes_no_cache_larger() {
        let cache = |level, size_bytes| Cache {
            level,
            kind: CacheKind::Unified,
            size_bytes,
            line_bytes: None,
            shared_by: None,
        };
        let check =
            |mut caches: Vec<Cache>, measured, expected: Option<_>, sizes: &[Option<u64>]| {
                let shrunk = shrink_last_level_cache(&mut caches, measured);
                let expected = expected.map(|(bytes, shown): (u64, u64)| NamedCache {
                    bytes,
                    shown_bytes: Some(shown),
                    source: CacheSizeSource::Measured,
                });
                assert_eq!(shrunk, expected);
                let found: Vec<_> = caches.iter().map(|cache| cache.size_bytes).collect();
                assert_eq!(found, sizes);
            };
        let caches = || vec![cache(2, Some(1)), cache(3, Some(300)), cache(3, Some(6))];
        check(caches(), 7, Some((7, 300)), &[Some(1), Some(7), Some(6)]);
        check(
            caches(),
            900,
            Some((300, 300)),
            &[Some(1), Some(300), Some(6)],
        );
        check(vec![cache(3, None)], 7, None, &[None]);
        check(vec![], 7, None, &[]);
    }

    #[test]
    fn a_document_without_a_source_is_of_a_size_that_was_named() {
        let old = r#"{"bytes":7,"shown_bytes":null}"#;
        let named: NamedCache = serde_json::from_str(old).unwrap();
        assert_eq!(named.source, CacheSizeSource::Option);
    }
}
