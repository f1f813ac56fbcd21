//! Allocates, places and prefaults the memory of the SGA, and reads back where its pages are.

use std::ops::Range;

use linux::Root;
use linux::shared_memory::{self, Mapping, ObjectKind, SharedMemory, Ticket};
use model::{Allocation, Backing, ByteSize, NodeId, PoolEvidence, SgaEvidence, SgaPlan};
use placement::evidence::{Residency, numa_maps_lines, residency, residency_of_parts};

use crate::Error;
use crate::sga_layout::SgaLayout;

/// Creates the object, maps it, places it and prefaults it. A System V segment gets this key.
///
/// # Errors
/// When the kernel does not have pages of this size, has too few, or refuses the policy.
pub(crate) fn make(
    plan: &SgaPlan,
    layout: &SgaLayout,
    key: Option<i32>,
) -> Result<(SharedMemory, Mapping), Error> {
    let kind = match plan.backing {
        Backing::Sysv => ObjectKind::Sysv { key },
        Backing::Memfd => ObjectKind::Memfd,
        Backing::Shm => ObjectKind::Shm,
    };
    if plan.backing == Backing::Shm {
        check_shm(layout.bytes)?;
    }
    let memory = SharedMemory::create(kind, layout.bytes as usize, plan.page_bytes)?;
    let mapping = memory.map()?;
    placement::allocate_mapping(&mapping, &plan.allocation, &pools(plan, layout))?;
    mapping.populate_for_writing()?;
    Ok((memory, mapping))
}

/// The SGA of another instance: the object, its mapping, and this instance's own part of it.
pub(crate) struct Attached {
    pub mapping: Mapping,
    pub own_part: SharedMemory,
    pub own_mapping: Mapping,
}

/// Maps the SGA of another instance, and makes the part of it that belongs to the processes of this
/// one, with the same policy.
///
/// # Errors
/// When the other instance has ended, or as [`make`].
pub(crate) fn attach(
    plan: &SgaPlan,
    layout: &SgaLayout,
    ticket: Ticket,
) -> Result<Attached, Error> {
    let mapping = SharedMemory::from_ticket(ticket, layout.bytes as usize)?.map()?;
    // Pages are found by a process that has mapped them.
    mapping.populate_for_reading()?;
    let page_bytes = linux::process::page_bytes();
    let bytes = layout.own_part_bytes().next_multiple_of(page_bytes);
    let own_part = SharedMemory::create(ObjectKind::Memfd, bytes as usize, page_bytes)?;
    let own_mapping = own_part.map()?;
    placement::allocate_mapping(&own_mapping, &plan.allocation, &[])?;
    own_mapping.populate_for_writing()?;
    Ok(Attached {
        mapping,
        own_part,
        own_mapping,
    })
}

/// Checks the room in /dev/shm: on a full one, `MADV_POPULATE_WRITE` fails with a bare `EFAULT`.
fn check_shm(bytes: u64) -> Result<(), Error> {
    match shared_memory::shm_free_bytes() {
        Some(free) if free < bytes => Err(Error::Layout(format!(
            "needs {} in {} ({} free)",
            ByteSize(bytes),
            shared_memory::SHM_DIRECTORY,
            ByteSize(free)
        ))),
        _ => Ok(()),
    }
}

/// Returns the pools that prefer a node, with their parts of the mapping.
fn pools(plan: &SgaPlan, layout: &SgaLayout) -> Vec<(NodeId, Range<usize>)> {
    let nodes = plan.allocation.pool_nodes().into_iter();
    (0..)
        .zip(nodes)
        .map(|(pool, node)| (node, layout.pool_range(pool)))
        .collect()
}

/// Returns what the kernel reports about the SGA, given where its pages were before.
///
/// # Errors
/// When the kernel does not report it.
pub(crate) fn evidence(
    root: &Root,
    mapping: &Mapping,
    plan: &SgaPlan,
    layout: &SgaLayout,
    before: &Residency,
) -> Result<SgaEvidence, Error> {
    let after = residency(mapping, plan.page_bytes)?;
    let lines = numa_maps_lines(root, mapping)?;
    let pools = pools(plan, layout);
    let parts: Vec<Range<usize>> = pools.into_iter().map(|(_, range)| range).collect();
    let of_parts = residency_of_parts(mapping, plan.page_bytes, &parts)?;
    let start = mapping.address().addr();
    let policy_at = |offset: usize| {
        let address = (start + offset) as u64;
        let line = lines.iter().rev().find(|line| line.address <= address);
        line.map_or_else(String::new, |line| line.policy.clone())
    };
    let pool = |(part, found): (&Range<usize>, Residency)| PoolEvidence {
        policy: policy_at(part.start),
        bytes_by_node: found.bytes_by_node,
    };
    let weights = match plan.allocation {
        Allocation::WeightedInterleave(_) => linux::kernel_settings::interleave_weights(root)
            .map_err(placement::Error::from)?
            .unwrap_or_default(),
        _ => Default::default(),
    };
    Ok(SgaEvidence {
        name: lines[0].file.clone().unwrap_or_default(),
        page_bytes: lines[0].kernel_page_bytes.unwrap_or(0),
        policy: lines[0].policy.clone(),
        bytes_by_node_before: before.bytes_by_node.clone(),
        bytes_by_node_after: after.bytes_by_node,
        bytes_without_node: before.bytes_without_node + after.bytes_without_node,
        pools: parts.iter().zip(of_parts).map(pool).collect(),
        weights,
    })
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::{Allocation, Backing, LoadPlan, NodeId, SgaPlan};
    use placement::evidence::residency;
    use testing::{Need, not_run};

    use super::{evidence, make};
    use crate::sga_layout::{SgaLayout, SgaSize};

    #[test]
    fn every_backing_honours_every_allocation_on_node_0() {
        let nodes = || [NodeId(0)].into_iter().collect();
        let allocations = [
            (Allocation::OsDefault, "default"),
            (Allocation::Interleave(nodes()), "interleave:0"),
            (
                Allocation::WeightedInterleave(nodes()),
                "weighted interleave:0",
            ),
            (Allocation::Bind(nodes()), "bind:0"),
            (Allocation::Prefer(NodeId(0)), "prefer:0"),
            (Allocation::PerNode(nodes()), "interleave:0"),
        ];
        let root = Root::live();
        let has_weights = linux::kernel_settings::interleave_weights(&root)
            .unwrap()
            .is_some();
        if !has_weights {
            let test = "every_backing_honours_every_allocation_on_node_0";
            let why = "in part: the kernel has no weighted interleave";
            not_run(test, Need::Kernel, why);
        }
        let is_here =
            |it: &Allocation| has_weights || !matches!(it, Allocation::WeightedInterleave(_));
        for (allocation, policy) in allocations.into_iter().filter(|(it, _)| is_here(it)) {
            for backing in [Backing::Sysv, Backing::Memfd, Backing::Shm] {
                let plan = SgaPlan {
                    cache_bytes: 1 << 20,
                    backing,
                    page_bytes: linux::process::page_bytes(),
                    allocation: allocation.clone(),
                };
                let load = LoadPlan {
                    sessions: 2,
                    ..LoadPlan::default()
                };
                let layout = SgaLayout::new(&SgaSize::of(&plan, &load)).unwrap();
                let (_memory, mapping) = make(&plan, &layout, None).unwrap();
                let before = residency(&mapping, plan.page_bytes).unwrap();
                let found = evidence(&root, &mapping, &plan, &layout, &before).unwrap();
                assert_eq!(found.policy, policy, "{backing:?}");
                assert_eq!(found.page_bytes, plan.page_bytes);
                let everything = [(NodeId(0), layout.bytes)];
                assert!(found.bytes_by_node_after.into_iter().eq(everything));
                assert_eq!(found.pools.len(), plan.allocation.pool_nodes().len());
                for pool in found.pools {
                    assert_eq!(pool.policy, "prefer:0");
                    assert!(pool.bytes_by_node.into_iter().eq([(NodeId(0), 1 << 20)]));
                }
            }
        }
    }

    #[test]
    fn more_than_fits_dev_shm_is_refused_with_what_fits() {
        let error = super::check_shm(1 << 60).unwrap_err().to_string();
        assert!(error.contains("1 EiB in /dev/shm"), "{error}");
    }
}
