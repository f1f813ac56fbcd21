//! Memory by node, as a table: before, planned, and after something.

use model::{ByteSize, BytesByNode, NodeId, NodeSet};

use crate::form::style::{Style, TextOptions};
use crate::run::table::{Side, Table};

/// Maximum number of nodes with their own columns; more nodes are written one below the other.
const NODE_COLUMNS_MAX: usize = 8;

/// A row: what memory, when, and its bytes by node.
pub(crate) struct NodeRow<'a>(pub String, pub &'static str, pub &'a BytesByNode);

/// Returns the table.
pub(crate) fn node_table(rows: &[NodeRow<'_>], options: &TextOptions) -> String {
    let nodes: NodeSet = rows.iter().flat_map(|row| row.2.keys()).copied().collect();
    let in_columns = nodes.len() <= NODE_COLUMNS_MAX;
    let names: Vec<String> = match in_columns {
        true => nodes.iter().map(|node| format!("node {node}")).collect(),
        false => vec!["by node".to_owned()],
    };
    let side = if in_columns { Side::Right } else { Side::Left };
    let mut columns = vec![("memory", Side::Left), ("", Side::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), side)));
    let mut table = Table::new(&columns);
    for NodeRow(name, word, bytes) in rows {
        let mut cells = vec![
            (name.clone(), Style::Usual),
            ((*word).to_owned(), Style::Usual),
        ];
        match in_columns {
            true => cells.extend(nodes.iter().map(|node| (size(bytes, node), Style::Usual))),
            false => cells.push((listed(bytes), Style::Usual)),
        }
        table.push(cells);
    }
    table.text(options)
}

fn size(bytes: &BytesByNode, node: NodeId) -> String {
    bytes
        .get(&node)
        .map_or_else(|| "-".to_owned(), |it| format!("{:.1}", ByteSize(*it)))
}

fn listed(bytes: &BytesByNode) -> String {
    let parts = bytes
        .iter()
        .map(|(node, bytes)| format!("{node}: {:.1}", ByteSize(*bytes)));
    parts.collect::<Vec<_>>().join(", ")
}
