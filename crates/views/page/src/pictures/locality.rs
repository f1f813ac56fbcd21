//! The order of the nodes of a matrix by locality, and the matrix in that order.

use model::{MatrixCell, NodeId, NodeMatrix};

use super::tree::{Tree, tree};

/// Maximum number of rows and of columns that are drawn.
pub(crate) const NODES_MAX: usize = 128;

/// A matrix in the order of its nodes by locality.
#[derive(Debug, Clone)]
pub(crate) struct Ordered {
    pub(crate) rows: Vec<NodeId>,
    pub(crate) columns: Vec<NodeId>,
    /// The tree of the rows.
    pub(crate) row_tree: Option<Tree>,
    /// That of the columns, where they are other nodes than the rows.
    pub(crate) column_tree: Option<Tree>,
    /// Nodes that were left out.
    pub(crate) left_out: usize,
}

/// Orders the nodes of a matrix; `far` turns a value into a figure that grows with distance.
pub(crate) fn ordered(matrix: &NodeMatrix, far: impl Fn(f64) -> f64) -> Ordered {
    let all = matrix.nodes();
    let nodes: Vec<NodeId> = all.iter().take(NODES_MAX).collect();
    let one_way =
        |from: NodeId, to: NodeId| matrix.value(from, to).map(&far).filter(|it| it.is_finite());
    let between: Vec<Vec<Option<f64>>> = nodes
        .iter()
        .map(|from| {
            let both = nodes
                .iter()
                .map(|to| (one_way(*from, *to), one_way(*to, *from)));
            both.map(|both| match both {
                (Some(there), Some(back)) => Some((there + back) / 2.0),
                (there, back) => there.or(back),
            })
            .collect()
        })
        .collect();
    let whole = tree(nodes.len(), |row, column| between[row][column]);
    let part = |of: &[NodeId]| {
        let part = whole.as_ref();
        part.and_then(|tree| tree.pruned(&|item| of.contains(&nodes[item])))
    };
    let (row_tree, column_tree) = (part(matrix.cpu_nodes()), part(matrix.memory_nodes()));
    let named = |tree: &Option<Tree>| -> Vec<NodeId> {
        let order = tree.as_ref().map(Tree::order).unwrap_or_default();
        order.into_iter().map(|item| nodes[item]).collect()
    };
    let (rows, columns) = (named(&row_tree), named(&column_tree));
    Ordered {
        column_tree: column_tree.filter(|_| rows != columns && columns.len() > 1),
        row_tree: row_tree.filter(|_| rows.len() > 1),
        rows,
        columns,
        left_out: all.len() - nodes.len(),
    }
}

/// The cells of a matrix in this order.
pub(crate) fn cells_in_order<'m, T>(
    matrix: &'m NodeMatrix,
    order: &Ordered,
    cell: impl Fn(NodeId, NodeId, Option<&'m MatrixCell>) -> T,
) -> Vec<Vec<T>> {
    let of_row = |from: &NodeId| {
        let columns = order.columns.iter();
        columns
            .map(|to| cell(*from, *to, matrix.cell(*from, *to)))
            .collect()
    };
    order.rows.iter().map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::{NODES_MAX, ordered};
    use model::{MatrixCell, NodeId, NodeMatrix};

    fn nodes(ids: &[u32]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn memory_only_nodes_stand_beside_the_nodes_they_are_near_to() {
        let cells = |row: &[f64]| row.iter().map(|ns| MatrixCell::of(*ns)).collect();
        let matrix = NodeMatrix::new(
            nodes(&[0, 8]),
            nodes(&[0, 8, 16, 24]),
            vec![
                cells(&[80.0, 140.0, 300.0, 200.0]),
                cells(&[140.0, 80.0, 200.0, 300.0]),
            ],
        );
        let order = ordered(&matrix.unwrap(), |ns| ns);
        assert_eq!(order.rows, nodes(&[0, 8]));
        // Node 16 is as near to 8 as 24 is to 0; the mean over both puts neither first.
        assert_eq!(order.columns.len(), 4);
        assert!(order.column_tree.is_some());
    }

    #[test]
    fn the_order_has_every_node_once_and_more_than_can_be_drawn_are_counted() {
        let ids: Vec<u32> = (0..200).map(|id| 3 * id).collect();
        let matrix = NodeMatrix::empty(nodes(&ids), nodes(&ids));
        let order = ordered(&matrix, |ns| ns);
        assert_eq!(order.left_out, 200 - NODES_MAX);
        let mut rows = order.rows.clone();
        rows.sort();
        rows.dedup();
        assert_eq!(rows.len(), NODES_MAX);
        assert_eq!(order.rows, order.columns);
        assert!(order.column_tree.is_none());
    }
}
