//! The ratio of two cases of one run: the narrower of two intervals that can be made for it.

use crate::bootstrap::ratio_interval;
use crate::interval::Interval;
use crate::quantile::median;
use crate::round_ratio::{Estimate, ratio_by_rounds};

/// Of what an interval of the given confidence may miss, the part that the interval by rounds may:
/// so little that no promise about many comparisons at once is touched (tests/all/rounds.rs).
const SHARE_OF_ROUNDS: f64 = 0.05;

/// The same where that interval is the only one.
const SHARE_OF_PAIRS: f64 = 0.5;

/// The ratio of two cases, numerator over denominator, with its interval. Value i of each belongs
/// to round i; `None` where the case has no value there that counts.
///
/// Two intervals are made: that of the ratio of the medians, which takes all trials for
/// independent ([`ratio_interval`]), and that of the ratios within rounds ([`ratio_by_rounds`]).
/// The narrower is the answer, with its own estimate. The first does not mind single trials that
/// are disturbed, the second does not mind rounds that are.
///
/// The narrower of two intervals is wrong at most as often as the one or the other is, so the
/// second is made with a higher confidence, and the two together miss no more than they may
/// (tests/all/rounds.rs).
///
/// Swapping the cases gives the reciprocal. `None` where neither interval can be made.
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
            // One that was chosen for being narrow is no surer than the other.
            by_rounds.interval.confidence = independent.interval.confidence;
            let narrower = width(&by_rounds.interval) < width(&independent.interval);
            Some(if narrower { by_rounds } else { independent })
        }
        (independent, by_rounds) => independent.or(by_rounds),
    }
}

/// The ratio of two cases whose windows alternated in every round: that of the ratios within rounds
/// alone ([`ratio_by_rounds`]), for what the two share is why they alternated. Which interval is
/// made was decided before there was a figure, so nothing is lost to a choice.
///
/// What it may miss is halved, for runs end when their intervals are narrow, and for what is taken
/// for normal.
///
/// `None` where that is.
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

/// The width of the interval of a ratio, the same from both sides.
fn width(interval: &Interval) -> f64 {
    interval.high.ln() - interval.low.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    /// Both directions have this estimate, or its reciprocal.
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
        // The case does twice the baseline, within 1 %, whatever is left of the machine.
        let baseline = [100.0, 50.0, 80.0, 20.0, 90.0, 35.0];
        let case = [201.0, 100.0, 159.0, 40.0, 181.0, 70.0];
        // A twentieth of what the interval may miss.
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
        // By rounds it would be e to the power of ln 3, which is not quite 3.
        assert_eq!((found.ratio, found.interval.low), (3.0, 3.0));
    }

    #[test]
    fn without_enough_values_there_is_no_ratio() {
        assert_eq!(ratio_of_cases(&all(&[1.0; 4]), &all(&[1.0; 4]), 0.95), None);
        // Values enough, but in no round together.
        let (mut first, mut second) = (vec![Some(2.0); 5], vec![None; 5]);
        first.extend(vec![None; 5]);
        second.extend(vec![Some(1.0); 5]);
        assert_eq!(ratio_of_cases(&first, &second, 0.95).unwrap().ratio, 2.0);
    }
}
