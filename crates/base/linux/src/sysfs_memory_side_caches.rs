//! `/sys/devices/system/node/nodeN/memory_side_cache/indexM`: memory that caches slower memory
//! behind it, as described by the firmware (HMAT; kernel,
//! `Documentation/admin-guide/mm/numaperf.rst`).

use std::str::FromStr;

use model::{CacheIndexing, CacheWritePolicy, MemorySideCache, NodeId};

use crate::sysfs_ids::numbers;
use crate::sysfs_nodes::DIRECTORY;
use crate::{Error, Root};

/// The caches in front of a node's memory, the nearest to the memory first; empty for most nodes,
/// which have none.
///
/// # Errors
/// When a file is malformed.
pub fn read(root: &Root, node: NodeId) -> Result<Vec<MemorySideCache>, Error> {
    let directory = format!("{DIRECTORY}/node{node}/memory_side_cache");
    let levels = numbers(root, &directory, "index")?;
    let levels = levels.into_iter().map(|level| {
        let directory = format!("{directory}/index{level}");
        Ok(MemorySideCache {
            node,
            level,
            // The kernel writes 0 where the table has no value.
            size_bytes: number(root, &directory, "size")?.filter(|bytes| *bytes > 0),
            line_bytes: number(root, &directory, "line_size")?.filter(|bytes| *bytes > 0),
            indexing: number(root, &directory, "indexing")?.map(indexing),
            write_policy: number(root, &directory, "write_policy")?.map(write_policy),
        })
    });
    levels.collect()
}

fn number<T: FromStr>(root: &Root, directory: &str, name: &str) -> Result<Option<T>, Error> {
    let file = root.read_optional(&format!("{directory}/{name}"))?;
    file.map(|file| file.number()).transpose()
}

/// `enum cache_indexing` (kernel, `include/linux/node.h`).
fn indexing(number: u32) -> CacheIndexing {
    match number {
        0 => CacheIndexing::DirectMapped,
        1 => CacheIndexing::Indexed,
        _ => CacheIndexing::Other,
    }
}

/// `enum cache_write_policy` (kernel, `include/linux/node.h`).
fn write_policy(number: u32) -> CacheWritePolicy {
    match number {
        0 => CacheWritePolicy::WriteBack,
        1 => CacheWritePolicy::WriteThrough,
        _ => CacheWritePolicy::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_read_with_what_is_known_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let cache = directory
            .path()
            .join(DIRECTORY)
            .join("node2/memory_side_cache");
        for (file, text) in [
            ("index1/size", "17179869184\n"),
            ("index1/line_size", "64\n"),
            ("index1/indexing", "0\n"),
            ("index1/write_policy", "0\n"),
            ("index2/size", "0\n"),
            ("index2/indexing", "2\n"),
        ] {
            let path = cache.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        let node = NodeId(2);
        let known = MemorySideCache {
            node,
            level: 1,
            size_bytes: Some(16 << 30),
            line_bytes: Some(64),
            indexing: Some(CacheIndexing::DirectMapped),
            write_policy: Some(CacheWritePolicy::WriteBack),
        };
        let unknown = MemorySideCache {
            node,
            level: 2,
            size_bytes: None,
            line_bytes: None,
            indexing: Some(CacheIndexing::Other),
            write_policy: None,
        };
        assert_eq!(read(&root, node).unwrap(), [known, unknown]);
        assert_eq!(read(&root, NodeId(0)).unwrap(), []);
    }
}
