//! The order of the nodes of a matrix, by locality where its figures tell, and the matrix in it.

use maud::{Markup, html};
use model::{MatrixCell, NodeId, NodeMatrix, counted};

use super::tree::{Tree, tree};

/// Maximum number of rows and of columns that are drawn.
pub(crate) const NODES_MAX: usize = 128;

/// A matrix in the order of its nodes.
#[derive(Debug, Clone)]
pub(crate) struct Ordered {
    pub(crate) rows: Vec<NodeId>,
    pub(crate) columns: Vec<NodeId>,
    /// The tree of the rows, if they are ordered by locality.
    pub(crate) row_tree: Option<Tree>,
    /// That of the columns, where they are other nodes than the rows.
    pub(crate) column_tree: Option<Tree>,
    /// Whether figures between nodes are known, but none can be told from another.
    pub(crate) is_all_alike: bool,
    /// Nodes that were left out.
    pub(crate) left_out: usize,
}

/// What is known between two nodes, with what it may be at least and at most.
#[derive(Debug, Clone, Copy)]
struct Distance {
    figure: f64,
    low: f64,
    high: f64,
}

impl Distance {
    /// `far` turns a figure into one that grows with distance. Without an interval, a figure is
    /// what it is.
    fn of(cell: &MatrixCell, far: impl Fn(f64) -> f64) -> Option<Self> {
        let figure = far(cell.value?);
        let ends = [cell.low, cell.high].map(|end| end.map_or(figure, &far));
        let is_known = figure.is_finite() && ends.iter().all(|end| end.is_finite());
        is_known.then(|| Distance {
            figure,
            low: ends[0].min(ends[1]),
            high: ends[0].max(ends[1]),
        })
    }

    /// The mean of both directions.
    fn mean(self, back: Distance) -> Self {
        Distance {
            figure: (self.figure + back.figure) / 2.0,
            low: (self.low + back.low) / 2.0,
            high: (self.high + back.high) / 2.0,
        }
    }
}

/// Orders the nodes of a matrix by locality, or by number if no two figures between nodes differ by
/// more than their intervals; `far` turns a value into a figure that grows with distance.
pub(crate) fn ordered(matrix: &NodeMatrix, far: impl Fn(f64) -> f64) -> Ordered {
    let all = matrix.nodes();
    let nodes: Vec<NodeId> = all.iter().take(NODES_MAX).collect();
    let (between, levels) = levels(nodes.len(), |row, column| {
        let one_way = |from: usize, to: usize| {
            let cell = matrix.cell(nodes[from], nodes[to]);
            cell.and_then(|cell| Distance::of(cell, &far))
        };
        match (one_way(row, column), one_way(column, row)) {
            (Some(there), Some(back)) => Some(there.mean(back)),
            (there, back) => there.or(back),
        }
    });
    let whole = tree(nodes.len(), |row, column| between[row][column]);
    let part = |of: &[NodeId]| {
        let part = whole.as_ref().filter(|_| levels > 1);
        part.and_then(|tree| tree.pruned(&|item| of.contains(&nodes[item])))
    };
    let (row_tree, column_tree) = (part(matrix.cpu_nodes()), part(matrix.memory_nodes()));
    let in_order = |tree: &Option<Tree>, of: &[NodeId]| -> Vec<NodeId> {
        match tree {
            Some(tree) => tree.order().into_iter().map(|item| nodes[item]).collect(),
            None => nodes.iter().copied().filter(|it| of.contains(it)).collect(),
        }
    };
    let rows = in_order(&row_tree, matrix.cpu_nodes());
    let columns = in_order(&column_tree, matrix.memory_nodes());
    Ordered {
        column_tree: column_tree.filter(|_| rows != columns && columns.len() > 1),
        row_tree: row_tree.filter(|_| rows.len() > 1),
        is_all_alike: levels == 1 && nodes.len() > 2,
        rows,
        columns,
        left_out: all.len() - nodes.len(),
    }
}

/// Returns the figures between nodes, and how many different ones there are: figures whose
/// intervals overlap, directly or over others, are one, their mean, so that no order comes from
/// noise.
fn levels(
    count: usize,
    between: impl Fn(usize, usize) -> Option<Distance>,
) -> (Vec<Vec<Option<f64>>>, usize) {
    let pairs = (0..count).flat_map(|row| (row + 1..count).map(move |column| (row, column)));
    let known = pairs.filter_map(|(row, column)| Some((between(row, column)?, row, column)));
    let mut known: Vec<(Distance, usize, usize)> = known.collect();
    known.sort_by(|(one, ..), (other, ..)| one.low.total_cmp(&other.low));
    let mut highest = f64::NEG_INFINITY;
    let mut found = vec![vec![None; count]; count];
    let mut levels = 0;
    for level in known.chunk_by(|(one, ..), (other, ..)| {
        highest = highest.max(one.high);
        other.low <= highest
    }) {
        let sum: f64 = level.iter().map(|(distance, ..)| distance.figure).sum();
        let mean = Some(sum / level.len() as f64);
        for (_, row, column) in level {
            (found[*row][*column], found[*column][*row]) = (mean, mean);
        }
        levels += 1;
    }
    (found, levels)
}

impl Ordered {
    /// What there is to say of the order, and how much is left out.
    pub(crate) fn notes(&self) -> Markup {
        html! {
            @if self.is_all_alike {
                p {
                    "Nodes are in order of number: their figures do not differ by more than their "
                    "intervals."
                }
            }
            @if self.left_out > 0 {
                p {
                    "Left out of the picture: " (counted(self.left_out, "node"))
                    " with the highest ids."
                }
            }
        }
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

    /// Latencies of four nodes, of which 0 and 2, and 1 and 3, are near to one another.
    fn crossed(half_width: f64) -> NodeMatrix {
        let ns = |from: u32, to: u32| match (from == to, from % 2 == to % 2) {
            (true, _) => 80.0,
            (_, true) => 140.0 + f64::from(from + to),
            (_, false) => 200.0 - f64::from(from + to),
        };
        let cell = |from, to| MatrixCell {
            low: Some(ns(from, to) - half_width),
            high: Some(ns(from, to) + half_width),
            ..MatrixCell::of(ns(from, to))
        };
        let row = |from| (0..4).map(|to| cell(from, to)).collect();
        let ids = nodes(&[0, 1, 2, 3]);
        NodeMatrix::new(ids.clone(), ids, (0..4).map(row).collect()).unwrap()
    }

    #[test]
    fn nodes_are_ordered_by_locality_only_where_differences_exceed_their_intervals() {
        let apart = ordered(&crossed(5.0), |ns| ns);
        assert_eq!(apart.rows, nodes(&[0, 2, 1, 3]));
        assert!(apart.row_tree.is_some() && !apart.is_all_alike);
        // Where more is nearer, others are: 0 and 1.
        let inverted = ordered(&crossed(5.0), |ns| 1e3 / ns);
        assert_eq!(inverted.rows, nodes(&[0, 1, 2, 3]));
        let alike = ordered(&crossed(40.0), |ns| ns);
        assert_eq!(alike.rows, nodes(&[0, 1, 2, 3]));
        assert_eq!(alike.columns, alike.rows);
        assert!(alike.row_tree.is_none() && alike.column_tree.is_none() && alike.is_all_alike);
    }

    #[test]
    fn nodes_that_cannot_be_told_apart_keep_their_numbers_within_their_group() {
        // 0 to 2 is the least of the figures near 140, and 1 to 2 the greatest, by noise alone.
        let row = |ns: [f64; 4]| {
            let cells = ns.map(|ns| MatrixCell {
                low: Some(ns - 4.0),
                high: Some(ns + 4.0),
                ..MatrixCell::of(ns)
            });
            cells.to_vec()
        };
        let ids = nodes(&[0, 1, 2, 3]);
        let rows = vec![
            row([80.0, 141.0, 139.0, 300.0]),
            row([141.0, 80.0, 143.0, 300.0]),
            row([139.0, 143.0, 80.0, 300.0]),
            row([300.0, 300.0, 300.0, 80.0]),
        ];
        let order = ordered(&NodeMatrix::new(ids.clone(), ids, rows).unwrap(), |ns| ns);
        assert_eq!(order.rows, nodes(&[0, 1, 2, 3]));
        assert!(order.row_tree.is_some());
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
