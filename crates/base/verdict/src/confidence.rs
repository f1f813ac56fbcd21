//! The confidence of intervals.

use model::NodeMatrix;
use stats::Interval;

/// Confidence of every interval, if there are enough values for it.
pub const CONFIDENCE: f64 = 0.95;

/// Returns the minimum confidence of these intervals: [`CONFIDENCE`], or less where there were too
/// few values for it.
pub fn common(intervals: impl IntoIterator<Item = Interval>) -> f64 {
    let confidences = intervals.into_iter().map(|interval| interval.confidence);
    confidences.fold(CONFIDENCE, f64::min)
}

/// Returns the minimum confidence of the intervals of a matrix.
pub fn common_of_cells(matrix: &NodeMatrix) -> f64 {
    let cells = matrix.rows().flat_map(|(_, cells)| cells);
    let confidences = cells.filter_map(|cell| cell.confidence);
    confidences.fold(CONFIDENCE, f64::min)
}
