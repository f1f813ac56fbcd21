//! Reads back what came of a placement: pages by node, policies, allowed CPUs, huge-page pools.

use std::collections::BTreeMap;

use linux::shared_memory::Mapping;
use linux::{Root, mempolicy};
use model::{HugePoolEvidence, NodeId};

use crate::Error;
use crate::numa_maps::{self, NumaMapsLine};

/// Bytes of one mapping by node, and bytes for which the kernel names no node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Residency {
    /// Bytes by node.
    pub bytes_by_node: BTreeMap<NodeId, u64>,
    /// Bytes of pages that are absent or could not be told.
    pub bytes_without_node: u64,
}

/// Asks where every page of `mapping` is, touching none (move_pages(2) as a query). Pages count as
/// present when this process has them mapped: populate the mapping first.
///
/// Where the call is not permitted, as in containers, /proc/self/numa_maps tells the same.
///
/// # Errors
/// When neither tells.
pub fn residency(mapping: &Mapping, page_bytes: u64) -> Result<Residency, Error> {
    let answers = match mempolicy::nodes_of_pages(mapping, page_bytes as usize) {
        Err(error) if error.is_permission() => return counted_in_numa_maps(mapping),
        answers => answers?,
    };
    let mut found = Residency::default();
    for answer in answers {
        match answer {
            Ok(node) => *found.bytes_by_node.entry(node).or_default() += page_bytes,
            Err(_) => found.bytes_without_node += page_bytes,
        }
    }
    Ok(found)
}

fn counted_in_numa_maps(mapping: &Mapping) -> Result<Residency, Error> {
    let line = numa_maps_line(&Root::live(), mapping)?;
    let page_bytes = line.kernel_page_bytes.ok_or_else(|| Error::NumaMaps {
        expected: "kernelpagesize_kB",
        found: "none in the line of the SGA".to_owned(),
    })?;
    let pages = line.pages_by_node.iter();
    let bytes_by_node: BTreeMap<NodeId, u64> = pages
        .map(|(node, pages)| (*node, pages * page_bytes))
        .collect();
    let present: u64 = bytes_by_node.values().sum();
    Ok(Residency {
        bytes_without_node: (mapping.len() as u64).saturating_sub(present),
        bytes_by_node,
    })
}

/// The line of /proc/self/numa_maps for `mapping`.
///
/// # Errors
/// When the file cannot be read, has no line for the mapping, or a line is malformed.
pub fn numa_maps_line(root: &Root, mapping: &Mapping) -> Result<NumaMapsLine, Error> {
    let file = root.read("proc/self/numa_maps")?;
    let prefix = format!("{:x} ", mapping.address().addr());
    let line = file.lines().find(|(_, line)| line.starts_with(&prefix));
    let (_, line) = line.ok_or_else(|| Error::NumaMaps {
        expected: "a line for the SGA",
        found: format!("none that begins with {prefix}"),
    })?;
    numa_maps::parse_line(line)
}

/// The policy of the private memory of process `pid` in the kernel's words: that of its stack.
///
/// # Errors
/// When the process is gone or may not be read, or a line is malformed.
pub fn policy_of_process(root: &Root, pid: u32) -> Result<String, Error> {
    let file = root.read(&format!("proc/{pid}/numa_maps"))?;
    let line = file.lines().find(|(_, line)| line.contains(" stack"));
    let (_, line) = line.ok_or_else(|| Error::NumaMaps {
        expected: "a line for the stack",
        found: format!("none in {}", file.path().display()),
    })?;
    Ok(numa_maps::parse_line(line)?.policy)
}

/// Every huge-page pool of every node.
///
/// # Errors
/// When a file of /sys is malformed.
pub fn huge_pools(root: &Root) -> Result<Vec<HugePoolEvidence>, Error> {
    let topology = crate::topology::read(root)?;
    let pools = topology.nodes.iter().flat_map(|node| {
        node.huge_pages.iter().map(|pool| HugePoolEvidence {
            node: node.id,
            page_bytes: pool.page_bytes,
            total: pool.total,
            free: pool.free.unwrap_or(0),
        })
    });
    Ok(pools.collect())
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use linux::shared_memory::{ObjectKind, SharedMemory};
    use model::{Allocation, NodeId};

    use super::{counted_in_numa_maps, numa_maps_line, policy_of_process, residency};
    use crate::placement::allocate_mapping;

    #[test]
    fn a_bound_mapping_shows_its_policy_and_its_pages() {
        for kind in [ObjectKind::Sysv, ObjectKind::Memfd] {
            let memory = SharedMemory::create(kind, 64 * 4096, 4096).unwrap();
            let mapping = memory.map().unwrap();
            let node: model::NodeSet = [NodeId(0)].into_iter().collect();
            allocate_mapping(&mapping, &Allocation::Bind(node)).unwrap();
            assert_eq!(
                residency(&mapping, 4096).unwrap().bytes_without_node,
                64 * 4096
            );
            mapping.populate_for_writing().unwrap();
            let found = residency(&mapping, 4096).unwrap();
            assert_eq!(found.bytes_without_node, 0);
            assert_eq!(
                found.bytes_by_node.into_iter().collect::<Vec<_>>(),
                [(NodeId(0), 64 * 4096)]
            );
            assert_eq!(
                counted_in_numa_maps(&mapping).unwrap(),
                residency(&mapping, 4096).unwrap()
            );
            let line = numa_maps_line(&Root::live(), &mapping).unwrap();
            assert_eq!(line.policy, "bind:0");
            assert_eq!(line.kernel_page_bytes, Some(4096));
            assert_eq!(line.pages_by_node[&NodeId(0)], 64);
        }
    }

    #[test]
    fn the_policy_of_a_plain_process_is_default() {
        let policy = policy_of_process(&Root::live(), std::process::id()).unwrap();
        assert_eq!(policy, "default");
    }
}
