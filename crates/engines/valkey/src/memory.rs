//! The memory of a server's values: the private memory of its process.

use linux::Root;
use linux::proc_maps::{self, Mapping};
use server::{CacheMemory, CacheRange, Error};

/// Smaller mappings are of stacks and libraries: the allocator takes memory in extents of megabytes
/// (jemalloc(3), `retain`).
const MAPPING_BYTES_MIN: u64 = 1 << 20;

/// Returns the mappings in which the values of a server are, the largest first.
///
/// # Errors
/// When its maps cannot be read or have no such mapping.
pub(crate) fn of_server(root: &Root, server: u32) -> Result<CacheMemory, Error> {
    let mappings = proc_maps::read(root, server)?.list;
    let mut mappings: Vec<Mapping> = mappings.into_iter().filter(may_have_values).collect();
    mappings.sort_by_key(|mapping| std::cmp::Reverse(mapping.bytes()));
    if mappings.is_empty() {
        return Err(Error::answer(
            "the maps of the server",
            "private memory of a megabyte or more",
            "none",
        ));
    }
    let range = |mapping: Mapping| CacheRange {
        offset: mapping.offset,
        bytes: mapping.bytes(),
        mapping,
    };
    Ok(CacheMemory {
        owner: server,
        toucher: server,
        processes: vec![server],
        ranges: mappings.into_iter().map(range).collect(),
    })
}

fn may_have_values(mapping: &Mapping) -> bool {
    let is_anonymous = matches!(mapping.name.as_str(), "" | "[heap]");
    is_anonymous
        && mapping.is_accessible
        && !mapping.is_executable
        && !mapping.is_shared
        && !mapping.has_object()
        && mapping.bytes() >= MAPPING_BYTES_MIN
}
