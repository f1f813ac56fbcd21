//! `/proc/buddyinfo`: free memory by node and by size of contiguous blocks
//! (`proc_buddyinfo(5)`).

use std::collections::BTreeMap;

use model::NodeId;

use crate::{Error, Root};

/// Free blocks of one node: `counts[order]` blocks of `2^order` pages, summed over all zones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreeBlocks {
    /// Blocks by order.
    pub counts: Vec<u64>,
}

impl FreeBlocks {
    /// Free bytes in blocks of at least `block_bytes`.
    pub fn bytes_in_blocks_of(&self, block_bytes: u64, page_bytes: u64) -> u64 {
        let blocks = (0_u32..).zip(&self.counts);
        let bytes = blocks.map(|(order, count)| (page_bytes.checked_shl(order), *count));
        bytes
            .filter_map(|(bytes, count)| bytes.filter(|it| *it >= block_bytes)?.checked_mul(count))
            .fold(0, u64::saturating_add)
    }
}

/// The free blocks of every node; empty when the kernel does not show them.
///
/// # Errors
/// When a line is malformed.
pub fn read(root: &Root) -> Result<BTreeMap<NodeId, FreeBlocks>, Error> {
    let mut nodes: BTreeMap<NodeId, FreeBlocks> = BTreeMap::new();
    let Some(file) = root.read_optional("proc/buddyinfo")? else {
        return Ok(nodes);
    };
    for (number, line) in file.lines() {
        // Node 0, zone   Normal    216     55     94     89     36     20
        let parsed = line.strip_prefix("Node ").and_then(|rest| {
            let (node, zone) = rest.split_once(", zone ")?;
            let counts = zone.split_ascii_whitespace().skip(1).map(str::parse);
            let counts: Vec<u64> = counts.collect::<Result<_, _>>().ok()?;
            Some((NodeId(node.parse().ok()?), counts))
        });
        let expected = "a line such as \"Node 0, zone Normal 216 55\"";
        let (node, counts) = parsed.ok_or_else(|| file.malformed(number, expected, line))?;
        let blocks = &mut nodes.entry(node).or_default().counts;
        blocks.resize(blocks.len().max(counts.len()), 0);
        for (sum, count) in blocks.iter_mut().zip(counts) {
            *sum = sum.saturating_add(count);
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {

    use super::*;

    fn parse(text: &str) -> Result<BTreeMap<NodeId, FreeBlocks>, Error> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("proc")).unwrap();
        std::fs::write(directory.path().join("proc/buddyinfo"), text).unwrap();
        read(&Root::at(directory.path()).unwrap())
    }

    #[test]
    fn zones_of_a_node_are_added_up() {
        let text = "Node 0, zone    DMA32      1      0      3 \n\
                    Node 0, zone   Normal      2      5      1      1 \n\
                    Node 5, zone   Normal      0      0      0      0 \n";
        let nodes = parse(text).unwrap();
        assert_eq!(nodes[&NodeId(0)].counts, [3, 5, 4, 1]);
        assert_eq!(
            nodes[&NodeId(0)].bytes_in_blocks_of(4 * 4096, 4096),
            (16 + 8) * 4096
        );
        assert_eq!(nodes[&NodeId(5)].bytes_in_blocks_of(4096, 4096), 0);
        let error = parse("Node x, zone Normal 1\n").unwrap_err().to_string();
        assert!(error.contains("line 1: expected a line such as"), "{error}");
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("\\PC*", &|text| {
            if let Ok(nodes) = parse(text) {
                for blocks in nodes.values() {
                    blocks.bytes_in_blocks_of(2 << 20, 4096);
                }
            }
        });
    }
}
