//! The trial before a matrix of latencies is planned: which working set measures memory and not
//! caches.

use kernels::{CellPlan, FoundWorkingSet, MemoryNodes, PageChoice, Timer, WarmUp};
use linux::Root;
use model::CpuSet;

use super::page_choice::{cannot, largest_pages};
use super::places::{MemoryPlaces, without_reserve};
use crate::plan::{Cannot, Host};

/// Seed of the orders: the search is the same for all runs.
const SEED: u64 = 1;

/// The search goes up to this size even if four times the last-level cache is less: caches that
/// evict at random hold 3 % of it if they have 32 MiB.
const BYTES_MAX: u64 = 1 << 30;

/// Searches, from the CPU of the first node in its own memory, for the smallest working set at
/// which latency no longer depends on it; sets it in the places, together with the largest pages
/// that all nodes have for it. `None`, with four times the last-level cache, on an emulated machine
/// and where caches cannot be flushed.
///
/// # Errors
/// When a permission is missing, memory cannot be allocated, or evidence cannot be read.
pub fn find_working_set(
    root: &Root,
    host: &Host,
    places: &mut MemoryPlaces,
) -> Result<Option<FoundWorkingSet>, Cannot> {
    let most = places.working_set_bytes;
    if places.emulated || !kernels::CAN_FLUSH {
        largest_pages(root, places)?;
        return Ok(None);
    }
    places.set_working_set(host, kernels::WORKING_SET_BYTES_MIN);
    largest_pages(root, places)?;
    let Some((cell, free)) = cell(host, places) else {
        // No node has room; the plan says so of each.
        return Ok(None);
    };
    let bytes_max = most.max(BYTES_MAX).min(without_reserve(free));
    let timer = Timer::new(root).map_err(|error| cannot(&error))?;
    let found = kernels::find_working_set(&cell, bytes_max, &timer, root);
    let found = found.map_err(|error| cannot(&error))?;
    let bytes = found.as_ref().map_or(most, |it| it.working_set.bytes);
    if bytes != places.working_set_bytes {
        places.set_working_set(host, bytes);
        largest_pages(root, places)?;
    }
    Ok(found)
}

/// Returns the cell to search with, and the memory that its node can provide.
fn cell(host: &Host, places: &MemoryPlaces) -> Option<(CellPlan, u64)> {
    let has_room = |node| !places.without_room.contains_key(&node);
    let local = places.measuring.iter().find_map(|(from, cpu)| {
        let to = places.own_memory(*from).filter(|to| has_room(*to))?;
        Some((*cpu, to))
    });
    let (cpu, node) = local?;
    let cell = CellPlan {
        cpu,
        nodes: MemoryNodes::Bind(node),
        home_cpu: places.home_cpu(node, cpu),
        awake_cpus: CpuSet::new(),
        // A pool of huge pages may have room for the least working set only.
        pages: PageChoice::Largest,
        working_set_bytes: 0,
        by_tlb_groups: true,
        warm_up: WarmUp::FirstVisitsThenLap,
        windows: kernels::WINDOWS,
        window_ns: kernels::WINDOW_NS,
        seed: SEED,
        stream: 0,
    };
    let free = host.obtainable_bytes(node);
    Some((cell, free.unwrap_or(u64::MAX)))
}
