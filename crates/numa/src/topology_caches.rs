//! Caches, put together from what each CPU says of those it uses.

use std::collections::{BTreeMap, BTreeSet};

use linux::{Error, Root, sysfs_caches};
use model::{Cache, CacheKind, CpuSet};

/// Reads the caches of every CPU in `online`; like caches become one entry.
pub(crate) fn read(root: &Root, online: &CpuSet) -> Result<Vec<Cache>, Error> {
    type Key = (u32, CacheKind, Option<u64>, Option<u64>);
    let mut caches: BTreeMap<Key, BTreeSet<CpuSet>> = BTreeMap::new();
    for cpu in online {
        for cache in sysfs_caches::read(root, cpu)? {
            let key = (cache.level, cache.kind, cache.size_bytes, cache.line_bytes);
            let shared_by = cache.shared_by.unwrap_or_else(|| CpuSet::of(cpu));
            caches.entry(key).or_default().insert(shared_by);
        }
    }
    let cache = |((level, kind, size_bytes, line_bytes), shared_by): (Key, BTreeSet<CpuSet>)| {
        let shared_by = shared_by.into_iter().collect();
        Cache {
            level,
            kind,
            size_bytes,
            line_bytes,
            shared_by,
        }
    };
    Ok(caches.into_iter().map(cache).collect())
}
