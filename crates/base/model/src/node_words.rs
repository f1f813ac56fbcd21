//! Nodes in sentences.

use crate::NodeSet;

/// `node 1`, or `nodes 0-3`.
pub fn node_words(nodes: &NodeSet) -> String {
    match nodes.len() {
        1 => format!("node {nodes}"),
        _ => format!("nodes {nodes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_is_no_nodes() {
        let words = |list: &str| node_words(&list.parse().unwrap());
        assert_eq!(words("1"), "node 1");
        assert_eq!(words("0-2"), "nodes 0-2");
    }
}
