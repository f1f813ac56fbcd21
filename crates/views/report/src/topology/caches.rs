//! Caches as text: those of CPUs, and memory-side caches.

use std::collections::BTreeSet;

use model::{
    ByteSize, Cache, CacheIndexing, CacheKind, CacheWritePolicy, CpuSet, Topology, counted,
};

use crate::form::style::TextOptions;
use crate::form::table::Table;

/// Formats the caches of CPUs; empty where the kernel shows none.
pub(crate) fn caches_text(topology: &Topology, options: &TextOptions) -> String {
    if topology.caches.is_empty() {
        return String::new();
    }
    let mut table = Table::of("cache|>size|>count|each shared by");
    for cache in &topology.caches {
        let shared_by = cache.shared_by.as_deref();
        let cells = [
            cache_name(cache),
            size(cache.size_bytes),
            shared_by.map_or_else(unknown, |caches| caches.len().to_string()),
            shared_by.map_or_else(unknown, sharers),
        ];
        table.row(cells);
    }
    options.heading("Caches") + &table.text(options)
}

fn cache_name(cache: &Cache) -> String {
    let kind = match cache.kind {
        CacheKind::Data => " data",
        CacheKind::Instruction => " instructions",
        CacheKind::Unified => "",
    };
    format!("L{}{kind}", cache.level)
}

/// Returns `2 CPUs`, or `18 to 20 CPUs`.
fn sharers(caches: &[CpuSet]) -> String {
    let counts: BTreeSet<usize> = caches.iter().map(CpuSet::len).collect();
    match (counts.first(), counts.last()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} CPUs"),
        (Some(count), _) => counted(*count, "CPU"),
        _ => String::new(),
    }
}

/// Formats the memory-side caches of nodes; empty where there are none.
pub(crate) fn memory_side_caches_text(topology: &Topology, options: &TextOptions) -> String {
    if topology.memory_side_caches.is_empty() {
        return String::new();
    }
    let mut table = Table::of(">node|>level|>size|>line|indexing|writes");
    for cache in &topology.memory_side_caches {
        let indexing = cache.indexing.map(|indexing| match indexing {
            CacheIndexing::DirectMapped => "direct-mapped",
            CacheIndexing::Indexed => "indexed",
            CacheIndexing::Other => "other",
        });
        let writes = cache.write_policy.map(|policy| match policy {
            CacheWritePolicy::WriteBack => "write-back",
            CacheWritePolicy::WriteThrough => "write-through",
            CacheWritePolicy::Other => "other",
        });
        let cells = [
            cache.node.to_string(),
            cache.level.to_string(),
            size(cache.size_bytes),
            size(cache.line_bytes),
            indexing.map_or_else(unknown, str::to_owned),
            writes.map_or_else(unknown, str::to_owned),
        ];
        table.row(cells);
    }
    options.heading("Memory-side caches (level 1 is nearest to the memory)") + &table.text(options)
}

fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(unknown, |bytes| ByteSize(bytes).to_string())
}

fn unknown() -> String {
    "unknown".to_owned()
}
