//! Distances as text: the firmware's table, and which nodes are near each other.

use model::{ByteSize, NodeSet, Topology, counted, node_words};

use crate::form::style::TextOptions;
use crate::topology::groups::{Group, groups};

/// Maximum number of nodes of a readable table; with more nodes, rows become lists.
const TABLE_NODES_MAX: usize = 16;

/// Maximum number of similar parts with their own lines; more of them share a line.
const LIKE_PARTS_MAX: usize = 4;

/// Formats the firmware's table and the groups in it.
pub(crate) fn distances_text(topology: &Topology, options: &TextOptions) -> String {
    if topology.nodes.len() < 2 {
        return one_node_text(topology, options);
    }
    let Some(rows) = &topology.distances else {
        let text = "The kernel does not report the firmware's distances, so the proximity of nodes \
                    is unknown.";
        return options.heading("Distances") + text + "\n";
    };
    let group = groups(topology);
    let is_readable = topology.nodes.len() <= TABLE_NODES_MAX;
    let mut text =
        options.heading("Distances (the firmware's, 10 is local; `numalab latency` measures)");
    match &group {
        _ if is_readable => text.push_str(&table(topology, rows)),
        Some(group) if group.is_exact() => text.push_str("As the groups below.\n"),
        _ => text.push_str(&lists(topology, rows)),
    }
    text.push('\n');
    text.push_str(&options.heading("Which nodes are near each other"));
    match &group {
        Some(group) => text.push_str(&tree(topology, group)),
        None => text.push_str("Unknown, because not all distances are known.\n"),
    }
    if !is_symmetric(rows) {
        text.push_str("The table is not symmetric; the groups use the longer direction.\n");
    }
    text
}

fn one_node_text(topology: &Topology, options: &TextOptions) -> String {
    let text = if topology.node_is_implied {
        "This kernel shows no nodes; numalab treats the machine as one node."
    } else {
        "One node: every CPU is equally near to all memory."
    };
    format!("{}{text}\n", options.heading("Distances"))
}

fn is_symmetric(rows: &[Vec<Option<u32>>]) -> bool {
    let cell = |row: usize, column: usize| *rows.get(row)?.get(column)?;
    let differ = |row, column| {
        let ways = cell(row, column).zip(cell(column, row));
        ways.is_some_and(|(there, back)| there != back)
    };
    !(0..rows.len()).any(|row| (0..row).any(|column| differ(row, column)))
}

/// Formats a distance, or `unknown` for an unknown one.
pub(crate) fn shown(distance: Option<u32>, unknown: &str) -> String {
    distance.map_or_else(|| unknown.to_owned(), |distance| distance.to_string())
}

/// Formats the table as `numactl --hardware` does: a row for each source node; `-` is unknown.
fn table(topology: &Topology, rows: &[Vec<Option<u32>>]) -> String {
    let ids: Vec<String> = topology
        .nodes
        .iter()
        .map(|node| node.id.to_string())
        .collect();
    let numbers = rows
        .iter()
        .flatten()
        .map(|distance| shown(*distance, "-").len());
    let width = ids
        .iter()
        .map(String::len)
        .chain(numbers)
        .max()
        .unwrap_or(0);
    let line = |head: &str, cells: &[String]| {
        let cells = cells.iter().map(|cell| format!("  {cell:>width$}"));
        format!("{head:>5}{}\n", cells.collect::<String>())
    };
    let mut text = line("node", &ids);
    for (id, row) in ids.iter().zip(rows) {
        text.push_str(&line(
            id,
            &row.iter().map(|cell| shown(*cell, "-")).collect::<Vec<_>>(),
        ));
    }
    text
}

/// Lists the others for each node, nearest first: `node 0: 16 to 1-3; 28 to 4-31`.
fn lists(topology: &Topology, rows: &[Vec<Option<u32>>]) -> String {
    let mut text = String::new();
    for (node, row) in topology.nodes.iter().zip(rows) {
        let mut others: Vec<_> = row.iter().zip(&topology.nodes).collect();
        others.retain(|(_, other)| other.id != node.id);
        // Unknown distances come last.
        others.sort_by_key(|(distance, other)| (distance.is_none(), **distance, other.id));
        let classes = others.chunk_by(|one, other| one.0 == other.0).map(|class| {
            let nodes: NodeSet = class.iter().map(|(_, other)| other.id).collect();
            format!("{} to {nodes}", shown(*class[0].0, "unknown"))
        });
        text.push_str(&format!(
            "node {}: {}\n",
            node.id,
            classes.collect::<Vec<_>>().join("; ")
        ));
    }
    text
}

/// Formats the groups as a tree, from the outside in.
fn tree(topology: &Topology, group: &Group) -> String {
    let mut text = line(topology, "", group);
    push_parts(&mut text, topology, "", group);
    text
}

fn push_parts(text: &mut String, topology: &Topology, indent: &str, group: &Group) {
    if group.is_innermost() {
        return;
    }
    let families = families(&group.parts);
    for (index, family) in families.iter().enumerate() {
        let is_last = index + 1 == families.len();
        let (branch, below) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        let start = format!("{indent}{branch}");
        match family.as_slice() {
            [part] => {
                text.push_str(&line(topology, &start, part));
                push_parts(text, topology, &format!("{indent}{below}"), part);
            }
            parts => text.push_str(&family_line(&start, parts)),
        }
    }
}

/// Groups parts into families: many similar innermost parts form one family, every other part its
/// own.
fn families(parts: &[Group]) -> Vec<Vec<&Group>> {
    let is_like = |one: &Group, other: &Group| {
        let innermost = one.is_innermost() && other.is_innermost();
        innermost && one.apart == other.apart && one.nodes.len() == other.nodes.len()
    };
    let mut families = Vec::new();
    for run in parts.chunk_by(is_like) {
        if run.len() > LIKE_PARTS_MAX {
            families.push(run.iter().collect());
        } else {
            families.extend(run.iter().map(|part| vec![part]));
        }
    }
    families
}

/// Returns `nodes 0-3 (80 CPUs, 519 GiB): 12 or 13 from node to node`.
fn line(topology: &Topology, start: &str, group: &Group) -> String {
    let nodes = || {
        topology
            .nodes
            .iter()
            .filter(|node| group.nodes.contains(node.id))
    };
    let cpus: usize = nodes().map(|node| node.cpus.len()).sum();
    let mut facts = match nodes().any(|node| node.has_unknown_cpus) {
        true => vec!["CPUs unknown".to_owned()],
        false => vec![cpu_count(cpus)],
    };
    let memory = topology.memory_bytes_of(&group.nodes);
    facts.extend(memory.map(|bytes| ByteSize(bytes).to_string()));
    let (named, facts) = (named(&group.nodes), facts.join(", "));
    if group.parts.is_empty() {
        return format!("{start}{named} ({facts})\n");
    }
    let between = if group.is_innermost() {
        "from node to node"
    } else {
        "from group to group"
    };
    format!(
        "{start}{named} ({facts}): {} {between}\n",
        choice(&group.apart)
    )
}

/// Returns `8 groups of 4 nodes, 16 from node to node: 0-3 | 4-7 | …`.
fn family_line(start: &str, parts: &[&Group]) -> String {
    let count = parts.len();
    let lists: Vec<String> = parts.iter().map(|part| part.nodes.to_string()).collect();
    let lists = lists.join(" | ");
    if parts[0].parts.is_empty() {
        return format!("{start}{count} single nodes: {lists}\n");
    }
    let (size, apart) = (parts[0].nodes.len(), choice(&parts[0].apart));
    format!("{start}{count} groups of {size} nodes, {apart} from node to node: {lists}\n")
}

/// Returns `21`, `12 or 13`, or `21 to 40`.
pub(crate) fn choice(distances: &[u32]) -> String {
    match distances {
        [] => String::new(),
        [only] => only.to_string(),
        [near, far] => format!("{near} or {far}"),
        [near, .., far] => format!("{near} to {far}"),
    }
}

/// Returns `node 3`, or `nodes 0-3`.
pub(crate) fn named(nodes: &NodeSet) -> String {
    node_words(nodes)
}

/// Returns `1 CPU`, `20 CPUs`, or `no CPUs`.
pub(crate) fn cpu_count(count: usize) -> String {
    match count {
        0 => "no CPUs".to_owned(),
        _ => counted(count, "CPU"),
    }
}
