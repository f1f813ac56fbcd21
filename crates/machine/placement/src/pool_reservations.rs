//! Who has reserved huge pages of a pool: mappings for which the kernel keeps pages free that
//! nobody has touched yet (kernel, `Documentation/mm/hugetlbfs_reserv.rst`). The kernel counts
//! them for the machine, and does not say whose they are.

use std::collections::BTreeMap;

use linux::huge_mappings::{self, HugeMapping};
use linux::map_files::MappedObject;
use linux::proc_maps::ObjectId;
use linux::{Root, proc_stat, sysfs_huge_pages};
use model::{PoolOfNode, PoolReservation, ReservingProcess};

/// The reserved pages of the machine, by page size.
///
/// # Errors
/// When a file of the kernel is malformed.
pub fn reserved(root: &Root) -> Result<BTreeMap<u64, u64>, linux::Error> {
    let pools = sysfs_huge_pages::machine(root)?.unwrap_or_default();
    let reserved = pools.into_iter();
    let reserved = reserved.map(|pool| (pool.page_bytes, pool.reserved.unwrap_or(0)));
    Ok(reserved.filter(|(_, pages)| *pages > 0).collect())
}

/// Notes how many free pages of each node are reserved. The kernel takes them where whoever
/// touches them may have memory, which nobody knows before: the pages are taken to be spread as
/// the free ones are.
pub(crate) fn spread(pools: &mut [PoolOfNode], reserved: &BTreeMap<u64, u64>) {
    for (page_bytes, pages) in reserved {
        let of_size = |it: &&mut PoolOfNode| it.page_bytes == *page_bytes;
        let free = pools.iter_mut().filter(of_size);
        let free: u64 = free.map(|it| it.free.unwrap_or(0)).sum();
        for pool in pools.iter_mut().filter(of_size) {
            pool.reserved = Some(share(*pages, pool.free.unwrap_or(0), free));
        }
    }
}

/// The part of reserved pages that is taken to be on a node, of which so many of all free pages
/// are.
pub fn share(reserved: u64, free: u64, free_of_all: u64) -> u64 {
    let part = u128::from(reserved) * u128::from(free);
    let part = part.div_ceil(u128::from(free_of_all.max(1)));
    u64::try_from(part).unwrap_or(u64::MAX).min(free)
}

/// Finds what has reserved pages of these sizes, as far as this process may see it: what is mapped
/// and not touched.
///
/// # Errors
/// When the processes cannot be listed.
pub fn holders(
    root: &Root,
    reserved: &BTreeMap<u64, u64>,
) -> Result<Vec<PoolReservation>, linux::Error> {
    if reserved.is_empty() {
        return Ok(Vec::new());
    }
    let mounts = huge_mappings::mounts(root)?;
    let mut shared: BTreeMap<ObjectId, PoolReservation> = BTreeMap::new();
    let mut found = Vec::new();
    for pid in proc_stat::pids(root)? {
        // It has ended meanwhile, or is another user's.
        let Ok(mappings) = huge_mappings::of_process(root, pid, &mounts) else {
            continue;
        };
        for huge in mappings.iter().filter(|it| it.has_reserved) {
            let holder = match huge.mapping.is_shared {
                true => shared
                    .entry(huge.mapping.object)
                    .or_insert_with(|| of_mapping(root, pid, huge)),
                false => {
                    found.push(of_mapping(root, pid, huge));
                    let Some(last) = found.last_mut() else {
                        continue;
                    };
                    last
                }
            };
            let name = proc_stat::read(root, pid).map(|stat| stat.name);
            let name = name.unwrap_or_default();
            let process = ReservingProcess { pid, name };
            if !holder.processes.contains(&process) {
                holder.processes.push(process);
            }
        }
    }
    found.extend(shared.into_values());
    found.retain(|it| it.pages > 0 && reserved.contains_key(&it.page_bytes));
    found.sort_by_key(|it| std::cmp::Reverse(it.pages.saturating_mul(it.page_bytes)));
    Ok(found)
}

/// What a mapping has reserved: of a shared object less the pages that it has, whoever touched
/// them.
fn of_mapping(root: &Root, pid: u32, huge: &HugeMapping) -> PoolReservation {
    let object = || MappedObject::open(root, pid, &huge.mapping).ok();
    let object = huge.mapping.is_shared.then(object).flatten();
    let touched = object.map_or(huge.present_bytes, |object| object.allocated_bytes);
    let untouched = huge.mapping.bytes().saturating_sub(touched);
    PoolReservation {
        name: huge.mapping.name.clone(),
        page_bytes: huge.page_bytes,
        pages: untouched / huge.page_bytes.max(1),
        processes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;

    #[test]
    fn reserved_pages_are_not_available_on_any_node() {
        let check = |free: &[u64], reserved, expected: &[u64]| {
            let pool = |(node, free): (u32, &u64)| PoolOfNode {
                node: NodeId(node),
                page_bytes: 2 << 20,
                free: Some(*free),
                ..PoolOfNode::default()
            };
            let mut pools: Vec<PoolOfNode> = (0..).zip(free).map(pool).collect();
            spread(&mut pools, &[(2 << 20, reserved)].into());
            let found: Vec<u64> = pools.iter().map(|it| it.reserved.unwrap()).collect();
            assert_eq!(found, expected);
            assert!(found.iter().sum::<u64>() >= reserved.min(free.iter().sum()));
        };
        check(&[6], 4, &[4]);
        check(&[6, 6], 4, &[2, 2]);
        check(&[6, 0], 4, &[4, 0]);
        check(&[5, 6], 4, &[2, 3]);
        check(&[2, 2], 9, &[2, 2]);
        check(&[0, 0], 4, &[0, 0]);
    }
}
