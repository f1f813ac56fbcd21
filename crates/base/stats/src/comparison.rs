//! The ratio of two cases of one run, with the narrower of two possible intervals.

use crate::bootstrap::ratio_interval;
use crate::interval::Interval;
use crate::quantile::median;
use crate::round_ratio::{Estimate, ratio_by_rounds};

/// The fraction of the permitted error probability to use for the interval by rounds: so small that
/// the guarantee for many simultaneous comparisons stays intact (tests/all/rounds.rs).
const SHARE_OF_ROUNDS: f64 = 0.05;

/// The same where that interval is the only one.
const SHARE_OF_PAIRS: f64 = 0.4;

/// The ratio of two cases, numerator over denominator, with its interval. Value i of each belongs
/// to round i; `None` where the case has no valid value in that round.
///
/// Computes two intervals: that of the ratio of the medians, which treats all trials as independent
/// ([`ratio_interval`]), and that of the ratios within rounds ([`ratio_by_rounds`]). Returns the
/// narrower one, with its own estimate. The first is robust to single disturbed trials, the second
/// to disturbed rounds.
///
/// The narrower of two intervals is wrong at most as often as at least one of the two is. The
/// second is therefore computed with a higher confidence, so that both together stay within the
/// permitted error probability (tests/all/rounds.rs).
///
/// Swapping the cases gives the reciprocal. `None` where neither interval can be computed.
pub fn ratio_of_cases(
    numerator: &[Option<f64>],
    denominator: &[Option<f64>],
    confidence: f64,
) -> Option<Estimate> {
    let independent = independent(numerator, denominator, confidence);
    let strict = 1.0 - (1.0 - confidence) * SHARE_OF_ROUNDS;
    let by_rounds = ratio_by_rounds(numerator, denominator, strict);
    match (independent, by_rounds) {
        (Some(independent), Some(mut by_rounds)) => {
            // Choosing an interval because it is narrow makes it no more certain than the other.
            by_rounds.interval.confidence = independent.interval.confidence;
            let narrower = width(&by_rounds.interval) < width(&independent.interval);
            Some(if narrower { by_rounds } else { independent })
        }
        (independent, by_rounds) => independent.or(by_rounds),
    }
}

/// The ratio of two cases whose windows alternated in every round: that of the ratios within rounds
/// alone ([`ratio_by_rounds`]), because windows alternate in order to share disturbances. The kind
/// of interval was decided before there were any figures, so choosing costs no confidence.
///
/// The interval may miss two fifths of what its confidence allows, because runs end when it is
/// narrow, because rounds on a machine with neighbours are not quite independent, and because it
/// assumes a normal distribution.
///
/// `None` where [`ratio_by_rounds`] is.
pub fn ratio_of_pairs(
    numerator: &[Option<f64>],
    denominator: &[Option<f64>],
    confidence: f64,
) -> Option<Estimate> {
    let strict = 1.0 - (1.0 - confidence) * SHARE_OF_PAIRS;
    let mut estimate = ratio_by_rounds(numerator, denominator, strict)?;
    estimate.interval.confidence = confidence;
    Some(estimate)
}

fn independent(
    numerator: &[Option<f64>],
    denominator: &[Option<f64>],
    confidence: f64,
) -> Option<Estimate> {
    let known = |values: &[Option<f64>]| values.iter().copied().flatten().collect::<Vec<f64>>();
    let (numerator, denominator) = (known(numerator), known(denominator));
    let interval = ratio_interval(&numerator, &denominator, confidence)?;
    let ratio = median(&numerator)? / median(&denominator)?;
    ratio.is_finite().then_some(Estimate { ratio, interval })
}

/// The width of the interval of a ratio; the same for its reciprocal.
fn width(interval: &Interval) -> f64 {
    interval.high.ln() - interval.low.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    /// Checks that both directions have this estimate, or its reciprocal.
    #[track_caller]
    fn check(case: &[f64], baseline: &[f64], expected: impl Fn(&[f64], &[f64]) -> Estimate) {
        for (above, below) in [(case, baseline), (baseline, case)] {
            let found = ratio_of_cases(&all(above), &all(below), 0.95).unwrap();
            let mut expected = expected(above, below);
            expected.interval.confidence = found.interval.confidence;
            assert_eq!(found, expected);
            let of_medians = ratio_interval(above, below, 0.95).unwrap();
            assert_eq!(found.interval.confidence, of_medians.confidence);
        }
    }

    #[test]
    fn rounds_that_were_disturbed_are_compared_round_by_round() {
        // The case does twice the baseline, within 1 %, however much of the machine is available.
        let baseline = [100.0, 50.0, 80.0, 20.0, 90.0, 35.0];
        let case = [201.0, 100.0, 159.0, 40.0, 181.0, 70.0];
        // A twentieth of the permitted error probability.
        check(&case, &baseline, |above, below| {
            ratio_by_rounds(&all(above), &all(below), 0.9975).unwrap()
        });
    }

    #[test]
    fn single_trials_that_were_disturbed_do_not_matter_to_medians() {
        let baseline = [100.0, 101.0, 99.0, 20.0, 100.5, 99.5, 100.2, 99.8, 100.1];
        let case = [200.0, 203.0, 40.0, 199.0, 201.0, 198.0, 200.4, 199.6, 200.2];
        check(&case, &baseline, |above, below| Estimate {
            ratio: median(above).unwrap() / median(below).unwrap(),
            interval: ratio_interval(above, below, 0.95).unwrap(),
        });
    }

    #[test]
    fn of_two_intervals_alike_that_of_the_medians_is_taken() {
        let found = ratio_of_cases(&all(&[3.0; 5]), &all(&[1.0; 5]), 0.95).unwrap();
        // By rounds, the ratio would be e to the power of ln 3, which is not quite 3.
        assert_eq!((found.ratio, found.interval.low), (3.0, 3.0));
    }

    #[test]
    fn without_enough_values_there_is_no_ratio() {
        assert_eq!(ratio_of_cases(&all(&[1.0; 4]), &all(&[1.0; 4]), 0.95), None);
        // Enough values, but none in the same round.
        let (mut first, mut second) = (vec![Some(2.0); 5], vec![None; 5]);
        first.extend(vec![None; 5]);
        second.extend(vec![Some(1.0); 5]);
        assert_eq!(ratio_of_cases(&first, &second, 0.95).unwrap().ratio, 2.0);
    }
}
