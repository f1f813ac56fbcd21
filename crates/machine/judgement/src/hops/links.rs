//! Infers which nodes are neighbours: those in the nearest class of remote nodes.

use std::collections::BTreeMap;

use model::{NodeId, NodeLink, NodeMatrix, NodeSet};

use super::classes::{Measured, classes_of_row};

/// Links between neighbours, each once. A node without a row is a neighbour of the node that
/// reaches it fastest.
///
/// The links show what the figures say, not the wires: where all remote nodes measure alike, all
/// are neighbours.
pub fn links(matrix: &NodeMatrix) -> Vec<NodeLink> {
    let mut neighbours: BTreeMap<NodeId, NodeSet> = BTreeMap::new();
    for (cpu_node, cells) in matrix.rows() {
        let is_remote = |member: &&Measured| member.node != cpu_node;
        let classes = classes_of_row(matrix, cells);
        let of_class = |class: &Vec<Measured>| -> NodeSet {
            class
                .iter()
                .filter(is_remote)
                .map(|member| member.node)
                .collect()
        };
        let nearest = classes.iter().map(of_class).find(|nodes| !nodes.is_empty());
        neighbours.insert(cpu_node, nearest.unwrap_or_default());
    }
    for memory_node in matrix.memory_nodes() {
        // A single row cannot tell to which node another is nearest.
        if matrix.cpu_nodes().len() > 1 && !neighbours.contains_key(memory_node) {
            let nearest = nearest_cpu_node(matrix, *memory_node);
            neighbours.entry(*memory_node).or_default().extend(nearest);
        }
    }
    let says = |from: NodeId, to: NodeId| {
        neighbours
            .get(&from)
            .is_some_and(|nodes| nodes.contains(to))
    };
    let mut found: BTreeMap<(NodeId, NodeId), NodeLink> = BTreeMap::new();
    for (from, nodes) in &neighbours {
        for to in nodes {
            let (first, last) = ((*from).min(to), (*from).max(to));
            found.entry((first, last)).or_insert(NodeLink {
                from: first,
                to: last,
                is_mutual: says(first, last) && says(last, first),
            });
        }
    }
    found.into_values().collect()
}

fn nearest_cpu_node(matrix: &NodeMatrix, memory_node: NodeId) -> Option<NodeId> {
    let figures = matrix.cpu_nodes().iter().filter_map(|cpu_node| {
        let cell = matrix.cell(*cpu_node, memory_node)?;
        Some((*cpu_node, Measured::of(memory_node, cell)?.ns))
    });
    let nearest = figures.min_by(|(_, one), (_, other)| one.total_cmp(other));
    nearest.map(|(cpu_node, _)| cpu_node)
}

#[cfg(test)]
mod tests {
    use model::{MatrixCell, NodeId, NodeMatrix};

    use super::links;

    fn check(cpu_nodes: &[u32], memory_nodes: &[u32], rows: &[&[f64]], expected: &str) {
        let ids = |ids: &[u32]| ids.iter().copied().map(NodeId).collect();
        let cells = rows
            .iter()
            .map(|row| row.iter().copied().map(MatrixCell::of).collect());
        let matrix = NodeMatrix::new(ids(cpu_nodes), ids(memory_nodes), cells.collect()).unwrap();
        let found = links(&matrix);
        let text: Vec<String> = found
            .iter()
            .map(|link| {
                let dash = if link.is_mutual { "=" } else { "-" };
                format!("{}{dash}{}", link.from, link.to)
            })
            .collect();
        assert_eq!(text.join(" "), expected);
    }

    #[test]
    fn one_row_shows_its_neighbours() {
        check(
            &[0],
            &[0, 1, 2, 3],
            &[&[53.0, 211.0, 217.0, 248.0]],
            "0-1 0-2",
        );
    }

    #[test]
    fn a_ring_of_four_has_four_links() {
        let rows: [&[f64]; 4] = [
            &[50.0, 200.0, 205.0, 250.0],
            &[200.0, 50.0, 250.0, 205.0],
            &[205.0, 250.0, 50.0, 200.0],
            &[250.0, 205.0, 200.0, 50.0],
        ];
        check(&[0, 1, 2, 3], &[0, 1, 2, 3], &rows, "0=1 0=2 1=3 2=3");
    }

    #[test]
    fn a_memory_only_node_is_next_to_whoever_reaches_it_fastest() {
        let rows: [&[f64]; 2] = [&[80.0, 140.0, 260.0], &[140.0, 80.0, 360.0]];
        check(&[0, 1], &[0, 1, 8], &rows, "0=1 0-8");
    }

    #[test]
    fn nothing_measured_is_nothing_linked() {
        check(&[], &[], &[], "");
        check(&[0], &[0], &[&[80.0]], "");
        check(&[0, 1], &[0, 1], &[&[f64::NAN, 0.0], &[f64::NAN, 1.0]], "");
    }
}
