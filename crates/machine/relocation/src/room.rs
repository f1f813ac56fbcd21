//! Whether the nodes of a plan have room for what they would receive.

use std::collections::BTreeMap;

use linux::{Root, proc_zoneinfo, sysfs_nodes};
use model::{ByteSize, NodeId, Topology};

use super::error::MoveError;
use super::plan::Plan;

/// Refuses a plan for which a node has too little room, before any page moves.
///
/// # Errors
/// [`MoveError::NoRoom`] with the first node that is too full.
pub fn check_room(root: &Root, plan: &Plan, topology: &Topology) -> Result<(), MoveError> {
    let mut more: BTreeMap<(u64, NodeId), i128> = BTreeMap::new();
    for planned in &plan.parts {
        let page_bytes = planned.part.page_bytes;
        for (node, bytes) in &planned.then {
            *more.entry((page_bytes, *node)).or_default() += i128::from(*bytes);
        }
        for (node, bytes) in &planned.now {
            *more.entry((page_bytes, *node)).or_default() -= i128::from(*bytes);
        }
    }
    for ((page_bytes, node), more) in more {
        let Some(needed_bytes) = u64::try_from(more).ok().filter(|bytes| *bytes > 0) else {
            continue;
        };
        let is_small = page_bytes == linux::process::page_bytes();
        let (free_bytes, what) = match is_small {
            true => (
                small_room(root, node)?.unwrap_or(0),
                "in small pages".to_owned(),
            ),
            false => (
                huge_room(topology, node, page_bytes),
                format!("in huge pages of {}", ByteSize(page_bytes)),
            ),
        };
        if needed_bytes > free_bytes {
            return Err(MoveError::NoRoom {
                node,
                what,
                needed_bytes,
                free_bytes,
            });
        }
    }
    Ok(())
}

/// Part of a node's memory that the kernel reserves (mm/page_alloc.c: watermarks of zones, by
/// default a small fraction of a percent of them; this is more than that).
const KEPT_SHARE: u64 = 64;

/// Bytes that are free on a node or can be freed: the kernel gives up file cache on demand. `None`
/// for a node that the kernel does not report.
///
/// # Errors
/// When its file is malformed.
pub fn small_room(root: &Root, node: NodeId) -> Result<Option<u64>, linux::Error> {
    let Some(meminfo) = sysfs_nodes::meminfo(root, node)? else {
        return Ok(None);
    };
    let cache = meminfo.file_cache_bytes.unwrap_or(0);
    let room = meminfo.free_bytes.map(|free| free.saturating_add(cache));
    let kept = meminfo.total_bytes.unwrap_or(0) / KEPT_SHARE;
    let room = room.map(|room| room.saturating_sub(kept));
    // What is free may be in zones that the kernel keeps for old devices.
    let zones = proc_zoneinfo::read(root)?;
    let zones: Vec<_> = zones.iter().filter(|zone| zone.node == node).collect();
    if zones.is_empty() {
        return Ok(room);
    }
    let pages = zones.iter().map(|zone| zone.usable()).sum::<u64>();
    let usable = pages.saturating_mul(linux::process::page_bytes());
    Ok(room.map(|room| room.min(usable.saturating_add(cache))))
}

fn huge_room(topology: &Topology, node: NodeId, page_bytes: u64) -> u64 {
    let pools = topology
        .node(node)
        .map_or(&[][..], |node| &node.huge_pages[..]);
    let pool = pools.iter().find(|pool| pool.page_bytes == page_bytes);
    pool.and_then(|pool| pool.free)
        .unwrap_or(0)
        .saturating_mul(page_bytes)
}
