//! Combines the rounds of a cell into one figure with an interval. Pure.

use model::MatrixCell;
use stats::Interval;

/// Confidence level of intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Half width of the interval of the rounds (or of their range, if there are too few rounds for an
/// interval), as a share of the median, above which a cell is unsteady. The classes of hops are
/// separated by gaps of the same size (see `judgement::hops`).
pub(crate) const UNSTEADY_SHARE: f64 = 0.05;

/// Half width added to an interval, as a share of the median, for what all rounds of a run have in
/// common: the minutes in which they were measured. Beyond what their rounds explain, the medians
/// of ten runs within two minutes scattered by 0.5 % (standard deviation), and those of ten others,
/// an hour later, by 1.8 % (a virtual machine with neighbours). Pooled this is 1.3 %; the 95 %
/// interval of Student's distribution with 18 degrees of freedom makes it 2.8 %.
pub const BETWEEN_RUNS_SHARE: f64 = 0.028;

/// Returns the cell of the medians of its rounds. One round is one value, however many windows it
/// had: windows in the same memory are not independent repetitions.
///
/// The half widths from the rounds and from [`BETWEEN_RUNS_SHARE`] are combined as the square root
/// of the sum of their squares (JCGM 100:2008, "Guide to the expression of uncertainty in
/// measurement", 5.1.2, for type A and type B uncertainties).
///
/// With fewer rounds than [`stats::VALUES_MIN`] the cell has a median but no interval.
pub fn cell_of_rounds(medians: &[f64]) -> MatrixCell {
    let Some(median) = stats::median(medians) else {
        return MatrixCell::absent("no round gave a figure");
    };
    let of_rounds = stats::median_interval(medians, CONFIDENCE);
    let interval = of_rounds.map(|interval| Interval {
        low: median - with_other_runs(median - interval.low, median),
        high: median + with_other_runs(interval.high - median, median),
        ..interval
    });
    let half_width = match of_rounds {
        Some(interval) => interval.relative_half_width(median),
        None => half_range(medians, median),
    };
    MatrixCell {
        value: Some(median),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        confidence: interval.map(|interval| interval.confidence),
        values: u32::try_from(medians.len()).unwrap_or(u32::MAX),
        is_unsteady: half_width.is_some_and(|share| share > UNSTEADY_SHARE),
        absent_because: None,
    }
}

fn with_other_runs(half_width: f64, median: f64) -> f64 {
    half_width.hypot(BETWEEN_RUNS_SHARE * median)
}

/// Returns half of the range as a share of the median.
fn half_range(values: &[f64], median: f64) -> Option<f64> {
    let range = stats::quantile(values, 1.0)? - stats::quantile(values, 0.0)?;
    Some(range / 2.0 / median.abs()).filter(|share| share.is_finite())
}

#[cfg(test)]
mod tests {
    use super::cell_of_rounds;

    #[test]
    fn five_rounds_have_an_interval_and_fewer_none() {
        let cell = cell_of_rounds(&[100.0, 101.0, 99.0, 100.5, 99.5]);
        assert_eq!((cell.value, cell.confidence), (Some(100.0), Some(0.9375)));
        let half_width = 1f64.hypot(2.8);
        assert_eq!(cell.low, Some(100.0 - half_width));
        assert_eq!(cell.high, Some(100.0 + half_width));
        assert!(!cell.is_unsteady);
        let cell = cell_of_rounds(&[100.0, 101.0]);
        assert_eq!((cell.value, cell.low), (Some(100.5), None));
    }

    #[test]
    fn rounds_that_scatter_are_flagged() {
        assert!(cell_of_rounds(&[100.0, 150.0, 99.0, 120.0, 99.5]).is_unsteady);
        assert!(cell_of_rounds(&[100.0, 150.0]).is_unsteady);
        assert!(!cell_of_rounds(&[100.0]).is_unsteady);
    }

    #[test]
    fn no_round_is_no_figure() {
        let cell = cell_of_rounds(&[]);
        assert_eq!(cell.value, None);
        assert!(cell.absent_because.is_some());
    }
}
