//! `/sys/devices/system/node/nodeN/memoryM`: which blocks of physical memory belong to a node
//! (kernel, `Documentation/admin-guide/mm/memory-hotplug.rst`).

use model::NodeId;

use crate::{Error, Root};

/// The size of every block; `None` for a kernel without `CONFIG_MEMORY_HOTPLUG`.
///
/// # Errors
/// When the file is malformed: it is one hexadecimal number, `8000000`.
pub fn block_bytes(root: &Root) -> Result<Option<u64>, Error> {
    let Some(file) = root.read_optional("sys/devices/system/memory/block_size_bytes")? else {
        return Ok(None);
    };
    let bytes = u64::from_str_radix(file.word(), 16).ok();
    bytes
        .filter(|bytes| bytes.is_power_of_two())
        .map(Some)
        .ok_or_else(|| file.malformed(1, "a power of two in hexadecimal", file.word()))
}

/// The block numbers of a node; block `M` begins at physical address `M` times the block size. A
/// block on the border of two nodes is listed by both.
///
/// # Errors
/// When the directory cannot be listed.
pub fn of_node(root: &Root, node: NodeId) -> Result<Vec<u64>, Error> {
    let entries = root.entries(&format!("sys/devices/system/node/node{node}"))?;
    let entries = entries.unwrap_or_default();
    let numbers = entries
        .iter()
        .filter_map(|entry| entry.strip_prefix("memory"));
    Ok(numbers.filter_map(|digits| digits.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_numbers_after_the_word_memory() {
        let directory = tempfile::tempdir().unwrap();
        let node = directory.path().join("sys/devices/system/node/node0");
        for name in [
            "memory0",
            "memory17",
            "memory_side_cache",
            "memoryx",
            "meminfo",
        ] {
            std::fs::create_dir_all(node.join(name)).unwrap();
        }
        let memory = directory.path().join("sys/devices/system/memory");
        std::fs::create_dir_all(&memory).unwrap();
        std::fs::write(memory.join("block_size_bytes"), "8000000\n").unwrap();
        let root = Root::at(directory.path()).unwrap();
        assert_eq!(of_node(&root, NodeId(0)).unwrap(), [0, 17]);
        assert_eq!(of_node(&root, NodeId(1)).unwrap(), []);
        assert_eq!(block_bytes(&root).unwrap(), Some(128 << 20));
        std::fs::write(memory.join("block_size_bytes"), "x\n").unwrap();
        assert!(block_bytes(&root).is_err());
    }
}
