//! Makes one figure with an interval out of the rounds of a cell. Pure.

use model::MatrixCell;
use stats::Interval;

/// The confidence of intervals.
pub const CONFIDENCE: f64 = 0.95;

/// From this half width of its interval on (of its range, where there are too few rounds for an
/// interval), as a share of the median, a cell is unsteady: the classes of hops are told apart by
/// gaps of the same size (see `numa::hops`).
pub const UNSTEADY_SHARE: f64 = 0.05;

/// The cell of the medians of its rounds. One round is one value, however many windows it had:
/// windows in the same memory are no independent repeats.
///
/// With fewer rounds than [`stats::VALUES_MIN`] the cell has a median but no interval.
pub fn cell_of_rounds(medians: &[f64], seed: u64) -> MatrixCell {
    let Some(median) = stats::median(medians) else {
        return MatrixCell::absent("no round gave a figure");
    };
    let interval = stats::median_interval(medians, CONFIDENCE, seed);
    let scatter = interval.or_else(|| range(medians));
    let half_width = scatter.and_then(|scatter| scatter.relative_half_width(median));
    MatrixCell {
        value: Some(median),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        values: u32::try_from(medians.len()).unwrap_or(u32::MAX),
        is_unsteady: half_width.is_some_and(|share| share > UNSTEADY_SHARE),
        absent_because: None,
    }
}

fn range(values: &[f64]) -> Option<Interval> {
    Some(Interval {
        low: stats::quantile(values, 0.0)?,
        high: stats::quantile(values, 1.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::cell_of_rounds;

    #[test]
    fn five_rounds_have_an_interval_and_fewer_none() {
        let cell = cell_of_rounds(&[100.0, 101.0, 99.0, 100.5, 99.5], 1);
        assert_eq!(cell.value, Some(100.0));
        assert_eq!((cell.low, cell.high), (Some(99.0), Some(101.0)));
        assert!(!cell.is_unsteady);
        let cell = cell_of_rounds(&[100.0, 101.0], 1);
        assert_eq!((cell.value, cell.low), (Some(100.5), None));
    }

    #[test]
    fn rounds_that_scatter_are_flagged() {
        assert!(cell_of_rounds(&[100.0, 150.0, 99.0, 120.0, 99.5], 1).is_unsteady);
        assert!(cell_of_rounds(&[100.0, 150.0], 1).is_unsteady);
        assert!(!cell_of_rounds(&[100.0], 1).is_unsteady);
    }

    #[test]
    fn no_round_is_no_figure() {
        let cell = cell_of_rounds(&[], 1);
        assert_eq!(cell.value, None);
        assert!(cell.absent_because.is_some());
    }
}
