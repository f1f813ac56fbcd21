//! Reads back the result of a placement: pages by node, policies, allowed CPUs, huge-page pools.

use std::collections::BTreeMap;
use std::ops::Range;

use linux::shared_memory::Mapping;
use linux::{Root, mempolicy};
use model::{HugePoolEvidence, NodeId};

use crate::Error;
use residency::numa_maps::{self, NumaMapsError, NumaMapsLine};

/// Bytes of one mapping by node, and bytes for which the kernel names no node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Residency {
    /// Bytes by node.
    pub bytes_by_node: BTreeMap<NodeId, u64>,
    /// Bytes of pages that are absent or whose node is unknown.
    pub bytes_without_node: u64,
}

/// Queries the node of every page of `mapping` without touching any (move_pages(2) as a query).
/// Pages count as present when this process has them mapped: populate the mapping first.
///
/// Where the call is not permitted, as in containers, reads /proc/self/numa_maps instead.
///
/// # Errors
/// When neither source can be read.
pub fn residency(mapping: &Mapping, page_bytes: u64) -> Result<Residency, Error> {
    let whole = 0..mapping.len();
    let parts = residency_of_parts(mapping, page_bytes, std::slice::from_ref(&whole))?;
    Ok(parts.into_iter().next().unwrap_or_default())
}

/// As [`residency()`], for parts of the mapping that are whole pages, in the order of `parts`.
/// Where numa_maps is the source, each part must consist of whole lines.
///
/// # Errors
/// As for [`residency()`].
pub fn residency_of_parts(
    mapping: &Mapping,
    page_bytes: u64,
    parts: &[Range<usize>],
) -> Result<Vec<Residency>, Error> {
    let answers = match mempolicy::nodes_of_pages(mapping, page_bytes as usize) {
        Err(error) if error.is_permission() => return counted_in_numa_maps(mapping, parts),
        answers => answers?,
    };
    let page = page_bytes as usize;
    let of_part = |part: &Range<usize>| {
        let mut found = Residency::default();
        for answer in &answers[part.start / page..part.end.div_ceil(page)] {
            match answer {
                Ok(node) => *found.bytes_by_node.entry(*node).or_default() += page_bytes,
                Err(_) => found.bytes_without_node += page_bytes,
            }
        }
        found
    };
    Ok(parts.iter().map(of_part).collect())
}

fn counted_in_numa_maps(
    mapping: &Mapping,
    parts: &[Range<usize>],
) -> Result<Vec<Residency>, Error> {
    let lines = numa_maps_lines(&Root::live(), mapping)?;
    let start = mapping.address().addr() as u64;
    let of_part = |part: &Range<usize>| {
        let inside = |line: &&NumaMapsLine| part.contains(&((line.address - start) as usize));
        let mut bytes_by_node = BTreeMap::new();
        for line in lines.iter().filter(inside) {
            let page_bytes = line.kernel_page_bytes.unwrap_or(0);
            for (node, pages) in &line.pages_by_node {
                *bytes_by_node.entry(*node).or_default() += pages * page_bytes;
            }
        }
        let present: u64 = bytes_by_node.values().sum();
        Residency {
            bytes_without_node: (part.len() as u64).saturating_sub(present),
            bytes_by_node,
        }
    };
    Ok(parts.iter().map(of_part).collect())
}

/// The lines of /proc/self/numa_maps for `mapping`: one, or several where parts of it have their
/// own policies.
///
/// # Errors
/// When the file cannot be read, has no line for the start of the mapping, or a line is malformed.
pub fn numa_maps_lines(root: &Root, mapping: &Mapping) -> Result<Vec<NumaMapsLine>, Error> {
    let file = root.read("proc/self/numa_maps")?;
    let start = mapping.address().addr() as u64;
    let end = start + mapping.len() as u64;
    let address_of = |line: &str| u64::from_str_radix(line.split_once(' ')?.0, 16).ok();
    let mut lines = Vec::new();
    for (_, line) in file.lines() {
        if address_of(line).is_some_and(|address| (start..end).contains(&address)) {
            lines.push(numa_maps::parse_line(line)?);
        }
    }
    if lines.first().is_none_or(|line| line.address != start) {
        return Err(Error::NumaMaps(NumaMapsError {
            expected: "a line for the SGA",
            found: format!("none that begins with {start:x}"),
        }));
    }
    Ok(lines)
}

/// Returns policy, page size and bytes by node of what process `pid` has mapped in `range`, from
/// numa_maps; `None` when no mapping begins in that range.
///
/// # Errors
/// When the process is gone or may not be read, or a line is malformed.
pub fn of_mapping_in_process(
    root: &Root,
    pid: u32,
    range: Range<u64>,
) -> Result<Option<MappedMemory>, Error> {
    let file = root.read(&format!("proc/{pid}/numa_maps"))?;
    let address_of = |line: &str| u64::from_str_radix(line.split_once(' ')?.0, 16).ok();
    let mut found: Option<MappedMemory> = None;
    for (_, line) in file.lines() {
        if !address_of(line).is_some_and(|address| range.contains(&address)) {
            continue;
        }
        let line = numa_maps::parse_line(line)?;
        let memory = found.get_or_insert_with(|| MappedMemory {
            policy: line.policy.clone(),
            ..MappedMemory::default()
        });
        let page_bytes = line.kernel_page_bytes.unwrap_or(0);
        memory.page_bytes = memory.page_bytes.max(page_bytes);
        for (node, pages) in line.pages_by_node {
            *memory.bytes_by_node.entry(node).or_default() += pages.saturating_mul(page_bytes);
        }
    }
    Ok(found)
}

/// What numa_maps reports for the mappings of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MappedMemory {
    /// Policy in the kernel's words.
    pub policy: String,
    /// Size of its pages; 0 where there are none.
    pub page_bytes: u64,
    /// Bytes by node.
    pub bytes_by_node: BTreeMap<NodeId, u64>,
}

/// The policy of the private memory of process `pid` in the kernel's words: that of its stack.
///
/// # Errors
/// When the process is gone or may not be read, or a line is malformed.
pub fn policy_of_process(root: &Root, pid: u32) -> Result<String, Error> {
    let file = root.read(&format!("proc/{pid}/numa_maps"))?;
    let line = file.lines().find(|(_, line)| line.contains(" stack"));
    let (_, line) = line.ok_or_else(|| NumaMapsError {
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
    let topology = topology::read(root)?;
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
    use std::fs;

    use linux::Root;
    use linux::process::page_bytes;
    use linux::shared_memory::{ObjectKind, SharedMemory};
    use model::{Allocation, NodeId};

    use super::{
        MappedMemory, counted_in_numa_maps, huge_pools, numa_maps_lines, of_mapping_in_process,
        policy_of_process, residency, residency_of_parts,
    };
    use crate::apply::allocate_mapping;

    #[test]
    fn a_bound_mapping_shows_its_policy_and_its_pages() {
        for kind in [
            ObjectKind::Sysv { key: None },
            ObjectKind::Memfd,
            ObjectKind::Shm,
        ] {
            let memory =
                SharedMemory::create(kind, 64 * page_bytes() as usize, page_bytes()).unwrap();
            let mapping = memory.map().unwrap();
            let node: model::NodeSet = [NodeId(0)].into_iter().collect();
            allocate_mapping(&mapping, &Allocation::Bind(node), &[]).unwrap();
            assert_eq!(
                residency(&mapping, page_bytes())
                    .unwrap()
                    .bytes_without_node,
                64 * page_bytes()
            );
            mapping.populate_for_writing().unwrap();
            let found = residency(&mapping, page_bytes()).unwrap();
            assert_eq!(found.bytes_without_node, 0);
            assert_eq!(
                found.bytes_by_node.into_iter().collect::<Vec<_>>(),
                [(NodeId(0), 64 * page_bytes())]
            );
            assert_eq!(
                counted_in_numa_maps(&mapping, std::slice::from_ref(&(0..mapping.len()))).unwrap(),
                [residency(&mapping, page_bytes()).unwrap()]
            );
            let lines = numa_maps_lines(&Root::live(), &mapping).unwrap();
            let [line] = lines.as_slice() else {
                panic!("{lines:?}");
            };
            assert_eq!(line.policy, "bind:0");
            assert_eq!(line.kernel_page_bytes, Some(page_bytes()));
            assert_eq!(line.pages_by_node[&NodeId(0)], 64);
        }
    }

    #[test]
    fn pools_show_their_own_policies_and_pages() {
        for kind in [
            ObjectKind::Sysv { key: None },
            ObjectKind::Memfd,
            ObjectKind::Shm,
        ] {
            let memory =
                SharedMemory::create(kind, 64 * page_bytes() as usize, page_bytes()).unwrap();
            let mapping = memory.map().unwrap();
            let nodes: model::NodeSet = [NodeId(0)].into_iter().collect();
            let page = page_bytes() as usize;
            let pool = 16 * page..64 * page;
            let pools = [(NodeId(0), pool.clone())];
            allocate_mapping(&mapping, &Allocation::PerNode(nodes), &pools).unwrap();
            mapping.populate_for_writing().unwrap();
            let lines = numa_maps_lines(&Root::live(), &mapping).unwrap();
            let policies: Vec<_> = lines.iter().map(|line| line.policy.as_str()).collect();
            assert_eq!(policies, ["interleave:0", "prefer:0"], "{kind:?}");
            let parts = [0..pool.start, pool.clone()];
            let found = residency_of_parts(&mapping, page_bytes(), &parts).unwrap();
            assert_eq!(found[0].bytes_by_node[&NodeId(0)], 16 * page_bytes());
            assert_eq!(found[1].bytes_by_node[&NodeId(0)], 48 * page_bytes());
            assert_eq!(counted_in_numa_maps(&mapping, &parts).unwrap(), found);
        }
    }

    #[test]
    fn what_another_process_has_mapped_is_added_up_over_its_lines() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("proc/7")).unwrap();
        // A mapping in two parts, with one mapping before it and one after it.
        let text = "7f0000000000 default anon=1 dirty=1 N0=1 kernelpagesize_kB=4\n\
            7f0000001000 bind:0-1 file=/x dirty=3 N0=2 N1=1 kernelpagesize_kB=4\n\
            7f0000004000 default file=/x dirty=5 N1=5 kernelpagesize_kB=4\n\
            7f0000009000 default anon=9 dirty=9 N0=9 kernelpagesize_kB=4\n";
        fs::write(directory.path().join("proc/7/numa_maps"), text).unwrap();
        let root = Root::at(directory.path()).unwrap();
        let found = |range| of_mapping_in_process(&root, 7, range).unwrap();
        let expected = MappedMemory {
            policy: "bind:0-1".to_owned(),
            page_bytes: 4096,
            bytes_by_node: [(NodeId(0), 2 * 4096), (NodeId(1), 6 * 4096)].into(),
        };
        assert_eq!(found(0x7f00_0000_1000..0x7f00_0000_9000), Some(expected));
        assert_eq!(found(0x1000..0x2000), None);
    }

    #[test]
    fn every_pool_of_every_node_is_shown() {
        let nodes = fs::read_dir("/sys/devices/system/node")
            .into_iter()
            .flatten();
        let pools = nodes.flatten().filter_map(|node| {
            let is_node = node.file_name().to_string_lossy().starts_with("node");
            let pools = fs::read_dir(node.path().join("hugepages")).ok()?;
            is_node.then(|| pools.count())
        });
        assert_eq!(
            huge_pools(&Root::live()).unwrap().len(),
            pools.sum::<usize>()
        );
    }

    #[test]
    fn the_policy_of_a_plain_process_is_default() {
        let policy = policy_of_process(&Root::live(), std::process::id()).unwrap();
        assert_eq!(policy, "default");
    }
}
