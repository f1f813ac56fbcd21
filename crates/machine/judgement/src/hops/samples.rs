//! Matrices and tables of distances, for tests of findings on latencies.

use model::{DistanceTable, MatrixCell, NodeId, NodeMatrix};

fn nodes(count: usize) -> Vec<NodeId> {
    (0..count as u32).map(NodeId).collect()
}

/// A matrix of these rows, in ns.
pub(crate) fn matrix(rows: &[&[f64]]) -> NodeMatrix {
    let columns = rows.first().map_or(0, |row| row.len());
    let cells = rows
        .iter()
        .map(|row| row.iter().copied().map(MatrixCell::of).collect());
    NodeMatrix::new(nodes(rows.len()), nodes(columns), cells.collect()).unwrap()
}

/// Distances between all nodes.
pub(crate) fn table(rows: &[&[u32]]) -> DistanceTable {
    let rows: Vec<Vec<u32>> = rows.iter().map(|row| row.to_vec()).collect();
    DistanceTable::new(nodes(rows.len()), rows).unwrap()
}
