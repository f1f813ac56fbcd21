//! The cells of a matrix of nodes, as documents and texts of latencies and bandwidths have them.

use std::collections::BTreeMap;

use model::{MatrixCell, NodeId, NodeMatrix, counted};
use serde::Serialize;

use crate::run::figures::UNKNOWN;

/// Why a cell was not measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CellReason<'r> {
    cpu_node: NodeId,
    memory_node: NodeId,
    reason: Option<&'r str>,
}

/// Returns the cells that were not measured.
pub(crate) fn not_measured(matrix: &NodeMatrix) -> Vec<CellReason<'_>> {
    let cells = cells_that(matrix, |cell| cell.value.is_none());
    let cells = cells.map(|(cpu_node, memory_node, cell)| CellReason {
        cpu_node,
        memory_node,
        reason: cell.absent_because.as_deref(),
    });
    cells.collect()
}

/// Returns a sentence on each reason why cells were not measured.
pub(crate) fn absent_sentences(matrix: &NodeMatrix) -> impl Iterator<Item = String> {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (.., cell) in cells_that(matrix, |cell| cell.value.is_none()) {
        let reason = cell.absent_because.as_deref().unwrap_or("no reason known");
        *reasons.entry(reason).or_default() += 1;
    }
    reasons.into_iter().map(|(reason, count)| {
        let cells = counted(count, "cell");
        format!("{UNKNOWN} not measured ({cells}): {reason}.")
    })
}

/// Returns the `wanted` cells with their nodes.
pub(crate) fn cells_that(
    matrix: &NodeMatrix,
    wanted: fn(&MatrixCell) -> bool,
) -> impl Iterator<Item = (NodeId, NodeId, &MatrixCell)> {
    let memory_nodes = matrix.memory_nodes();
    matrix.rows().flat_map(move |(cpu_node, cells)| {
        let cells = memory_nodes.iter().zip(cells);
        let cells = cells.filter(move |(_, cell)| wanted(cell));
        cells.map(move |(memory_node, cell)| (cpu_node, *memory_node, cell))
    })
}

/// Returns a figure of each cell, in the rows of the matrix.
pub(crate) fn values(
    matrix: &NodeMatrix,
    of: fn(&MatrixCell) -> Option<f64>,
) -> Vec<Vec<Option<f64>>> {
    let rows = matrix.rows();
    rows.map(|(_, cells)| cells.iter().map(of).collect())
        .collect()
}
