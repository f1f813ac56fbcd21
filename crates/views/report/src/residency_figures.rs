//! Figures of residencies as people read them: sizes, shares, and bytes by node.

use model::{ByteSize, BytesByNode, NodeId, NodeSet};

/// Columns of a name.
pub(crate) const NAME_COLUMNS: usize = 36;
/// Nodes with columns of their own; more are written into one column.
pub(crate) const NODE_COLUMNS_MAX: usize = 8;

/// `0: 1 GiB, 3: 2 GiB`; many nodes as the range of their figures.
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

/// `1.0 GiB`; nothing is a dash.
pub(crate) fn size(bytes: u64) -> String {
    if bytes == 0 {
        "-".to_owned()
    } else {
        format!("{:.1}", ByteSize(bytes))
    }
}

/// `25.0 %`; empty where there is nothing to have a share of.
pub(crate) fn percent(part: u64, all: u64) -> String {
    if all == 0 {
        String::new()
    } else {
        format!("{:.1} %", part as f64 * 100.0 / all as f64)
    }
}
