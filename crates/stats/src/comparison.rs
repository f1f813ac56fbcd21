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
