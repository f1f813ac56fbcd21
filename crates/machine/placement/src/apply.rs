//! Applies a placement to the calling process, before it touches memory.

use std::ops::Range;
use std::path::Path;

use linux::mempolicy::{self, Policy};
use linux::shared_memory::Mapping;
use model::{Allocation, Mechanism, NodeId, Placement};

use crate::{Error, hierarchy};

/// Places the calling process; children inherit it through fork and exec.
///
/// `group` is the processor group for this placement; required when the mechanism is a group.
///
/// # Errors
/// When the group cannot be joined, or a system call is refused.
pub fn apply_to_this_process(placement: &Placement, group: Option<&Path>) -> Result<(), Error> {
    match (placement.mechanism, group) {
        (Mechanism::Group, Some(directory)) => hierarchy::join(directory),
        (Mechanism::Group, None) if placement.asks_for_something() => Err(Error::NoGroups {
            reason: "none was made for this case".to_owned(),
        }),
        (Mechanism::Group, None) => Ok(()),
        (Mechanism::Affinity, _) => {
            if let Some(cpus) = &placement.cpus {
                linux::affinity::bind_this_thread(cpus)?;
            }
            if let Some(nodes) = &placement.memory_nodes {
                mempolicy::set_task_policy(&Policy::Bind(nodes.clone()))?;
            }
            Ok(())
        }
    }
}

/// Sets where the pages of a shared mapping will come from, before they exist. `pools` are the
/// parts of the mapping that hold the pools of [`Allocation::PerNode`], with their nodes.
///
/// # Errors
/// When mbind(2) is refused: no node of the allocation is allowed here, a seccomp filter forbids
/// it, or the kernel is older than 6.9 and has no weighted interleave.
pub fn allocate_mapping(
    mapping: &Mapping,
    allocation: &Allocation,
    pools: &[(NodeId, Range<usize>)],
) -> Result<(), Error> {
    let policy = match allocation {
        Allocation::OsDefault => return Ok(()),
        Allocation::Interleave(nodes) | Allocation::PerNode(nodes) => {
            Policy::Interleave(nodes.clone())
        }
        Allocation::WeightedInterleave(nodes) => Policy::WeightedInterleave(nodes.clone()),
        Allocation::Bind(nodes) => Policy::Bind(nodes.clone()),
        Allocation::Prefer(node) => Policy::Preferred(*node),
    };
    mempolicy::bind_mapping(mapping, &policy)?;
    for (node, range) in pools {
        mempolicy::bind_range(mapping, range.clone(), &Policy::Preferred(*node))?;
    }
    Ok(())
}
