//! Pools of huge pages by node.

use model::{NodeHugePages, NodeId, NodeSet};

use super::input::DoctorInput;

/// The file of a node's pool.
pub(crate) fn pool_file(node: NodeId, page_bytes: u64, file: &str) -> String {
    let kib = page_bytes / 1024;
    format!("/sys/devices/system/node/node{node}/hugepages/hugepages-{kib}kB/{file}")
}

/// The pools of one page size on these nodes.
pub(crate) fn pools<'a>(
    input: &'a DoctorInput,
    nodes: &NodeSet,
    page_bytes: u64,
) -> Vec<(NodeId, &'a NodeHugePages)> {
    let nodes = input
        .topology
        .nodes
        .iter()
        .filter(|node| nodes.contains(node.id));
    let of_size = nodes.flat_map(|node| node.huge_pages.iter().map(|pool| (node.id, pool)));
    of_size
        .filter(|(_, pool)| pool.page_bytes == page_bytes)
        .collect()
}
