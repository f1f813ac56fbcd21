//! How sure intervals are, as headings say it.

use model::NodeMatrix;
use stats::Interval;

use crate::judgement::CONFIDENCE;
use crate::run_figures::decimals;

/// How sure all of these intervals are, at least: [`CONFIDENCE`], or less where there were too few
/// values for it.
pub(crate) fn common(intervals: impl IntoIterator<Item = Interval>) -> f64 {
    let confidences = intervals.into_iter().map(|interval| interval.confidence);
    confidences.fold(CONFIDENCE, f64::min)
}

/// The same of the intervals of a matrix.
pub(crate) fn common_of_cells(matrix: &NodeMatrix) -> f64 {
    let cells = matrix.rows().flat_map(|(_, cells)| cells);
    let confidences = cells.filter_map(|cell| cell.confidence);
    confidences.fold(CONFIDENCE, f64::min)
}

/// `95 %`, `93.75 %`.
pub(crate) fn percent(confidence: f64) -> String {
    let digits = decimals(100.0 * confidence, 2);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} %")
}

#[cfg(test)]
mod tests {
    use super::{common, percent};
    use stats::median_interval;

    #[test]
    fn headings_say_what_the_least_sure_interval_is() {
        let of = |count: u32| {
            let values: Vec<f64> = (0..count).map(f64::from).collect();
            median_interval(&values, 0.95).unwrap()
        };
        assert_eq!(percent(common([])), "95 %");
        assert_eq!(percent(common([of(6), of(12)])), "95 %");
        assert_eq!(percent(common([of(12), of(5), of(8)])), "93.75 %");
        assert_eq!(percent(0.9), "90 %");
    }
}
