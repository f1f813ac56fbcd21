//! Formats figures of residencies: sizes, shares, and bytes by node.

use model::{ByteSize, BytesByNode, NodeId, NodeSet};

/// Maximum width of a name, in columns.
pub(crate) const NAME_COLUMNS: usize = 36;
/// Maximum number of nodes with their own columns; more nodes share one column.
pub(crate) const NODE_COLUMNS_MAX: usize = 8;

/// Formats bytes by node: `0: 1.0 GiB, 3: 2.0 GiB`, or the range of figures for many nodes.
pub(crate) fn by_node_text(bytes: &BytesByNode) -> String {
    let present: Vec<(&NodeId, &u64)> = bytes.iter().filter(|(_, bytes)| **bytes > 0).collect();
    if present.len() <= NODE_COLUMNS_MAX {
        let parts = present
            .iter()
            .map(|(node, bytes)| format!("{node}: {}", size(**bytes)));
        return parts.collect::<Vec<_>>().join(", ");
    }
    let nodes: NodeSet = present.iter().map(|(node, _)| **node).collect();
    let least = present.iter().map(|(_, bytes)| **bytes).min().unwrap_or(0);
    let most = present.iter().map(|(_, bytes)| **bytes).max().unwrap_or(0);
    format!("{nodes}: {} to {} each", size(least), size(most))
}

/// Formats a size: `1.0 GiB`, or a dash for 0.
pub(crate) fn size(bytes: u64) -> String {
    if bytes == 0 {
        "-".to_owned()
    } else {
        format!("{:.1}", ByteSize(bytes))
    }
}

/// Formats a share: `25.0 %`, or empty if `all` is 0.
pub(crate) fn percent(part: u64, all: u64) -> String {
    if all == 0 {
        String::new()
    } else {
        format!("{:.1} %", part as f64 * 100.0 / all as f64)
    }
}
