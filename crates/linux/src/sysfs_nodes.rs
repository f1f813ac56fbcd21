//! `/sys/devices/system/node`: which nodes there are, their CPUs, memory and distances (kernel,
//! `Documentation/ABI/stable/sysfs-devices-node`).

use std::path::PathBuf;

use model::{CpuSet, MemoryRating, NodeId, NodeSet};

use crate::numbered_entries::numbered_entries;
use crate::proc_meminfo::Meminfo;
use crate::sysfs_huge_pages::{self, HugePagePool};
use crate::{Error, Root, TextFile};

const DIRECTORY: &str = "sys/devices/system/node";

/// The nodes that are online; empty when the kernel has no directory of nodes, or none in it.
///
/// # Errors
/// When the directory cannot be listed or an entry has an impossible number.
pub fn online(root: &Root) -> Result<NodeSet, Error> {
    numbered_entries(root, DIRECTORY, "node")
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

/// The CPUs of a node that are online.
///
/// # Errors
/// When the file is missing or malformed.
pub fn cpus(root: &Root, node: NodeId) -> Result<CpuSet, Error> {
    root.read(&format!("{DIRECTORY}/node{node}/cpulist"))?
        .id_list()
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
/// When a file of them is missing or malformed.
pub fn huge_pages(root: &Root, node: NodeId) -> Result<Option<Vec<HugePagePool>>, Error> {
    sysfs_huge_pages::read(root, &format!("{DIRECTORY}/node{node}/hugepages"))
}

/// The file to which 1 is written for the kernel to compact the memory of a node: it puts used
/// pages together, so that large blocks become free.
pub fn compact_file(node: NodeId) -> PathBuf {
    format!("/{DIRECTORY}/node{node}/compact").into()
}

/// The firmware's distances from a node to each of `nodes`, in ascending order of id.
///
/// # Errors
/// When the file is malformed or has another number of distances.
pub fn distances(root: &Root, node: NodeId, nodes: &NodeSet) -> Result<Option<Vec<u32>>, Error> {
    let file = root.read_optional(&format!("{DIRECTORY}/node{node}/distance"))?;
    file.map(|file| parse_distances(&file, nodes)).transpose()
}

/// What the firmware rates a node's memory at, seen from the best nodes with CPUs: access class 1;
/// on older kernels class 0, where initiators other than CPUs count, too (kernel,
/// `Documentation/admin-guide/mm/numaperf.rst`). `None` without such a table.
///
/// # Errors
/// When a file of it is malformed.
pub fn memory_rating(root: &Root, node: NodeId) -> Result<Option<MemoryRating>, Error> {
    for class in ["access1", "access0"] {
        let directory = format!("{DIRECTORY}/node{node}/{class}/initiators");
        // The kernel writes 0 where the table says nothing.
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

/// `10 21 21 21`, one for each online node.
fn parse_distances(file: &TextFile, nodes: &NodeSet) -> Result<Vec<u32>, Error> {
    let mut distances = Vec::new();
    for word in file.text().split_ascii_whitespace() {
        let distance = word
            .parse()
            .ok()
            .filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()));
        distances
            .push(distance.ok_or_else(|| file.malformed(1, "a distance such as 10 or 21", word))?);
    }
    if distances.len() != nodes.len() {
        let expected = match nodes.len() {
            1 => format!("1 distance, for node {nodes}"),
            count => format!("{count} distances, one for each of nodes {nodes}"),
        };
        return Err(file.unexpected(1, expected, distances.len().to_string()));
    }
    Ok(distances)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distances(text: &str, nodes: &str) -> Result<Vec<u32>, String> {
        parse_distances(&TextFile::new("/distance", text), &nodes.parse().unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_row_has_a_distance_for_each_node() {
        assert_eq!(distances("10 21 21\n", "0-2").unwrap(), [10, 21, 21]);
        assert_eq!(
            distances("10 255 0 9 65535\n", "0,8,250-252").unwrap(),
            [10, 255, 0, 9, 65535]
        );
        assert_eq!(distances("10", "3").unwrap(), [10]);
    }

    #[test]
    fn malformed_rows_say_what_was_expected() {
        let check = |text: &str, nodes: &str, expected: &str| {
            let error = distances(text, nodes).unwrap_err();
            assert_eq!(error, format!("/distance, line 1: expected {expected}"));
        };
        check(
            "10 21\n",
            "0-3",
            "4 distances, one for each of nodes 0-3, found 2",
        );
        check(
            "10 21 21\n",
            "0,8",
            "2 distances, one for each of nodes 0,8, found 3",
        );
        check("", "0", "1 distance, for node 0, found 0");
        check(
            "10 x 21\n",
            "0-2",
            "a distance such as 10 or 21, found \"x\"",
        );
        check(
            "10 -1\n",
            "0-1",
            "a distance such as 10 or 21, found \"-1\"",
        );
        check(
            "10 +1\n",
            "0-1",
            "a distance such as 10 or 21, found \"+1\"",
        );
        check(
            "99999999999\n",
            "0",
            "a distance such as 10 or 21, found \"99999999999\"",
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = distances(&text, "0-3");
        }

        #[test]
        fn rows_round_trip(row in prop::collection::vec(0..300_u32, 1..40)) {
            let text: Vec<String> = row.iter().map(u32::to_string).collect();
            let nodes = format!("0-{}", row.len() - 1);
            prop_assert_eq!(distances(&text.join(" "), &nodes).unwrap(), row);
        }
    }
}
