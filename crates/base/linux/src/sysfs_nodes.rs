//! `/sys/devices/system/node`: the nodes, their CPUs, memory and distances (kernel,
//! `Documentation/ABI/stable/sysfs-devices-node`).

use std::path::PathBuf;

use model::{CpuSet, MemoryRating, NodeId, NodeSet};

use crate::proc_meminfo::Meminfo;
use crate::sysfs_huge_pages::{self, HugePagePool};
use crate::sysfs_ids::numbered_entries;
use crate::{Error, Root, TextFile, sysfs_ids};

pub(crate) const DIRECTORY: &str = "sys/devices/system/node";

/// The nodes that are online and have a directory; empty when the kernel has no directory of nodes
/// or an empty one.
///
/// # Errors
/// When the directory cannot be listed, an entry has an impossible number, or the list of nodes
/// that are online is malformed.
pub fn online(root: &Root) -> Result<NodeSet, Error> {
    let directories = with_directory(root)?;
    let listed = listed_online(root)?.map(|listed| listed.intersection(&directories));
    Ok(listed
        .filter(|nodes| !nodes.is_empty())
        .unwrap_or(directories))
}

/// The nodes that have a directory: with few exceptions the nodes that are online.
///
/// # Errors
/// When the directory cannot be listed or an entry has an impossible number.
pub fn with_directory(root: &Root) -> Result<NodeSet, Error> {
    numbered_entries(root, DIRECTORY, "node")
}

/// The nodes in the kernel's list of online nodes; `None` when the kernel has no such list.
///
/// # Errors
/// When the file is malformed.
pub fn listed_online(root: &Root) -> Result<Option<NodeSet>, Error> {
    let file = root.read_optional(&format!("{DIRECTORY}/online"))?;
    file.map(|file| file.id_list()).transpose()
}

/// The nodes that the kernel could bring online.
///
/// # Errors
/// When the file is malformed.
pub fn possible(root: &Root) -> Result<Option<NodeSet>, Error> {
    let file = root.read_optional(&format!("{DIRECTORY}/possible"))?;
    file.map(|file| file.id_list()).transpose()
}

/// The nodes that have memory; `None` when the kernel has no such list.
///
/// # Errors
/// When the file is malformed.
pub fn with_memory(root: &Root) -> Result<Option<NodeSet>, Error> {
    let file = root.read_optional(&format!("{DIRECTORY}/has_memory"))?;
    file.map(|file| file.id_list()).transpose()
}

/// The online CPUs of a node; some kernels list its offline CPUs, too. `None` when the kernel shows
/// neither a list nor a mask.
///
/// # Errors
/// When the file is malformed.
pub fn cpus(root: &Root, node: NodeId) -> Result<Option<CpuSet>, Error> {
    let read = |name: &str| root.read_optional(&format!("{DIRECTORY}/node{node}/{name}"));
    sysfs_ids::id_set(read, &["cpulist"], &["cpumap"])
}

/// The CPUs of all nodes together.
pub(crate) fn cpus_of_all(root: &Root) -> Result<CpuSet, Error> {
    let mut all = CpuSet::new();
    for node in &with_directory(root)? {
        all = all.union(&cpus(root, node)?.unwrap_or_default());
    }
    Ok(all)
}

/// The CPUs to which the directory of a node has links.
///
/// # Errors
/// When an entry has an impossible number.
pub fn linked_cpus(root: &Root, node: NodeId) -> Result<CpuSet, Error> {
    numbered_entries(root, &format!("{DIRECTORY}/node{node}"), "cpu")
}

/// The memory of a node.
///
/// # Errors
/// When the file is malformed.
pub fn meminfo(root: &Root, node: NodeId) -> Result<Option<Meminfo>, Error> {
    let file = root.read_optional(&format!("{DIRECTORY}/node{node}/meminfo"))?;
    file.map(|file| Meminfo::parse(&file)).transpose()
}

/// The huge-page pools of a node; `None` when the kernel does not list them by node.
///
/// # Errors
/// When one of their files is malformed.
pub fn huge_pages(root: &Root, node: NodeId) -> Result<Option<Vec<HugePagePool>>, Error> {
    sysfs_huge_pages::read(root, &format!("{DIRECTORY}/node{node}/hugepages"))
}

/// The file to which 1 is written to make the kernel compact the memory of a node: it moves used
/// pages together, so that large blocks become free.
pub fn compact_file(node: NodeId) -> PathBuf {
    format!("/{DIRECTORY}/node{node}/compact").into()
}

/// The firmware's distances from a node, as the kernel writes them: to each online node, in
/// ascending order of id (`node_read_distance` in the kernel's `drivers/base/node.c`). The file
/// does not record which nodes were online when it was read.
///
/// # Errors
/// When the file is malformed.
pub fn distances(root: &Root, node: NodeId) -> Result<Option<Vec<u32>>, Error> {
    let file = root.read_optional(&format!("{DIRECTORY}/node{node}/distance"))?;
    file.map(|file| parse_distances(&file)).transpose()
}

/// The firmware's rating of a node's memory, as seen from the best nodes with CPUs: access class 1;
/// on older kernels class 0, which also counts initiators other than CPUs (kernel,
/// `Documentation/admin-guide/mm/numaperf.rst`). `None` without such a table.
///
/// # Errors
/// When one of its files is malformed.
pub fn memory_rating(root: &Root, node: NodeId) -> Result<Option<MemoryRating>, Error> {
    for class in ["access1", "access0"] {
        let directory = format!("{DIRECTORY}/node{node}/{class}/initiators");
        if root.entries(&directory)?.is_none() {
            continue;
        }
        // The kernel writes 0 where the table has no value.
        let rating = |name: &str, unit: u64| -> Result<Option<u64>, Error> {
            let Some(file) = root.read_optional(&format!("{directory}/{name}"))? else {
                return Ok(None);
            };
            let rating: u64 = file.number()?;
            let rating = rating.checked_mul(unit);
            let rating =
                rating.ok_or_else(|| file.malformed(1, "a smaller number", file.word()))?;
            Ok(Some(rating).filter(|rating| *rating > 0))
        };
        const MIB: u64 = 1 << 20;
        let nothing = MemoryRating {
            node,
            from: numbered_entries(root, &directory, "node")?,
            ..MemoryRating::default()
        };
        let rated = MemoryRating {
            read_latency_ns: rating("read_latency", 1)?,
            write_latency_ns: rating("write_latency", 1)?,
            read_bytes_per_s: rating("read_bandwidth", MIB)?,
            write_bytes_per_s: rating("write_bandwidth", MIB)?,
            ..nothing.clone()
        };
        if rated != nothing {
            return Ok(Some(rated));
        }
    }
    Ok(None)
}

/// `10 21 21 21`.
fn parse_distances(file: &TextFile) -> Result<Vec<u32>, Error> {
    let words = file.text().split_ascii_whitespace();
    let distances = words.map(|word| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let distance = word.parse().ok().filter(|_| is_number);
        distance.ok_or_else(|| file.malformed(1, "a distance such as 10 or 21", word))
    });
    distances.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distances(text: &str) -> Result<Vec<u32>, String> {
        parse_distances(&TextFile::new("/distance", text)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_row_is_read_as_it_is() {
        assert_eq!(distances("10 21 21\n").unwrap(), [10, 21, 21]);
        assert_eq!(
            distances("10 255 0 9 65535\n").unwrap(),
            [10, 255, 0, 9, 65535]
        );
        assert_eq!(distances("10").unwrap(), [10]);
        assert_eq!(distances("\n").unwrap(), []);
    }

    #[test]
    fn what_is_no_distance_is_named() {
        for word in ["x", "-1", "+1", "99999999999", "1.5"] {
            assert_eq!(
                distances(&format!("10 {word} 21\n")).unwrap_err(),
                format!("/distance, line 1: expected a distance such as 10 or 21, found {word:?}")
            );
        }
    }

    proptest! {

        #[test]
        fn rows_round_trip(row in prop::collection::vec(0..300_u32, 1..40)) {
            let text: Vec<String> = row.iter().map(u32::to_string).collect();
            prop_assert_eq!(distances(&text.join(" ")).unwrap(), row);
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("\\PC*", &|text| {
            let _ = distances(text);
        });
    }
}
