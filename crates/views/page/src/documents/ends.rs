//! The nearest and the farthest pair of a matrix, and how sure its figures are.

use model::{MatrixCell, NodeId, NodeMatrix, counted};

/// A pair of nodes, CPU node first, with its cell.
type Pair<'m> = (NodeId, NodeId, &'m MatrixCell);

/// Returns the pairs with the least and with the greatest figure; `None` where there is no figure.
pub(crate) fn ends(matrix: &NodeMatrix) -> Option<(Pair<'_>, Pair<'_>)> {
    let pairs = matrix.rows().flat_map(|(from, cells)| {
        let cells = matrix.memory_nodes().iter().zip(cells);
        cells.map(move |(to, cell)| (from, *to, cell))
    });
    let known: Vec<Pair<'_>> = pairs.filter(|(.., cell)| cell.value.is_some()).collect();
    let value = |pair: &&Pair<'_>| pair.2.value.unwrap_or(0.0);
    let least = known.iter().min_by(|a, b| value(a).total_cmp(&value(b)))?;
    let most = known.iter().max_by(|a, b| value(a).total_cmp(&value(b)))?;
    Some((*least, *most))
}

/// Formats a figure with its interval, if it has one.
pub(crate) fn with_interval(cell: &MatrixCell, figure: fn(f64) -> String) -> String {
    let value = cell.value.map_or_else(String::new, figure);
    match (cell.low, cell.high) {
        (Some(low), Some(high)) => format!("{value} [{} to {}]", figure(low), figure(high)),
        _ => value,
    }
}

/// Returns how sure the figures are.
pub(crate) fn matrix_sureness(matrix: &NodeMatrix) -> Option<String> {
    let cells = || matrix.rows().flat_map(|(_, cells)| cells);
    let known = || cells().filter(|cell| cell.value.is_some());
    known().next()?;
    let confidence = known().filter(|cell| cell.low.is_some());
    let confidence = confidence.filter_map(|cell| cell.confidence);
    let confidence = confidence.min_by(f64::total_cmp);
    let mut words = match confidence {
        Some(confidence) => format!("{:.0} % intervals of medians", (confidence * 100.0).floor()),
        None => "no interval".to_owned(),
    };
    let unsteady = cells().filter(|cell| cell.is_unsteady).count();
    if unsteady > 0 {
        words.push_str(&format!(", {unsteady} unsteady"));
    }
    let (all, known) = (cells().count(), known().count());
    if known < all {
        words.push_str(&format!(", {known} of {} measured", counted(all, "pair")));
    }
    Some(words)
}
