//! Memory by node, as a table: before, planned, and after something.

use model::{ByteSize, BytesByNode, NodeId, NodeSet};

use crate::form::plain::plain_within;
use crate::form::style::TextOptions;
use crate::form::table::{Side, Table};

/// Maximum number of nodes with their own columns; more nodes are written one below the other.
const NODE_COLUMNS_MAX: usize = 8;

/// Maximum width of a name, in columns.
pub(crate) const NAME_COLUMNS: usize = 32;

/// A row: what memory, when, and its bytes by node.
pub(crate) struct NodeRow<'a>(String, &'static str, &'a BytesByNode);

/// Returns what memory it is: `/dev/zero (anonymous, 4 KiB)`.
pub(crate) fn memory_label(name: &str, kind: &str, page_bytes: u64) -> String {
    let name = plain_within(name, NAME_COLUMNS);
    format!("{name} ({kind}, {})", ByteSize(page_bytes))
}

/// Returns the rows of some memory before, as planned and after something.
pub(crate) fn node_rows<'a>(
    label: String,
    before: &'a BytesByNode,
    planned: Option<(&'static str, &'a BytesByNode)>,
    after: Option<&'a BytesByNode>,
) -> impl Iterator<Item = NodeRow<'a>> {
    let now = after.map_or("now", |_| "before");
    let later = planned
        .into_iter()
        .chain(after.map(|after| ("after", after)));
    let later = later.map(|(when, bytes)| NodeRow(String::new(), when, bytes));
    std::iter::once(NodeRow(label, now, before)).chain(later)
}

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
        let mut cells = vec![name.clone(), (*word).to_owned()];
        match in_columns {
            true => cells.extend(nodes.iter().map(|node| size(bytes, node))),
            false => cells.push(listed(bytes)),
        }
        table.row(cells);
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
