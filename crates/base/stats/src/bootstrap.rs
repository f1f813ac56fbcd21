//! An interval for the ratio of two medians: the bootstrap, computed instead of sampled.

use statrs::function::beta::beta_reg;
use statrs::function::factorial::ln_binomial;

use crate::interval::{Interval, VALUES_MIN, range_confidence};
use crate::percentile::expanded_tail;
use crate::quantile::{between, sorted};

/// The fraction of the permitted error probability to use for the percentiles. At 1, an interval of
/// one median from 11 values would miss it in 6.5 % of cases instead of 5 %; at 0.6 it misses at
/// most 4 % for any number of values from 6 to 40.
const SHARE_MISSED: f64 = 0.6;

/// Outcomes less likely than this are omitted from a distribution; their total is far below any
/// share that matters here.
const PROBABILITY_MIN: f64 = 1e-15;

/// An interval for the ratio of the medians of two independent samples, numerator over
/// denominator: the bootstrap percentile interval (Efron & Tibshirani 1993, chapter 13) with the
/// expanded percentiles of Hesterberg 2015 (see `expanded_tail`).
///
/// The bootstrap draws many samples of the same size with replacement and takes the ratios of their
/// medians. The probability of each median can be computed (Maritz & Jarrett 1978, "A Note on
/// Estimating the Variance of the Sample Median", JASA 73), so the interval is that of infinitely
/// many draws.
///
/// The expanded percentiles are those of the smaller sample, which is the conservative choice: its
/// degrees of freedom are at most those of the comparison. Swapping the samples gives the exact
/// reciprocal interval, so a verdict does not depend on which one is the baseline.
///
/// The percentiles use only the fraction `SHARE_MISSED` of the permitted error probability, so that
/// the interval has its nominal coverage for samples of equal spread, and also where one of the two
/// has no spread and the interval is one of the other's median (tests/all/coverage.rs). Its
/// coverage then never exceeds that of the range of those values, and its confidence is set
/// accordingly.
///
/// `None` when either sample has fewer than [`VALUES_MIN`] values, when a value is not finite, when
/// a value of the denominator is not positive or one of the numerator negative (values are rates),
/// and for a confidence outside 0..1.
pub fn ratio_interval(numerator: &[f64], denominator: &[f64], confidence: f64) -> Option<Interval> {
    let count = numerator.len().min(denominator.len());
    if count < VALUES_MIN {
        return None;
    }
    let tail = expanded_tail(count, 1.0 - (1.0 - confidence) * SHARE_MISSED)?;
    let (numerator, denominator) = (sorted(numerator)?, sorted(denominator)?);
    if numerator[0] < 0.0 || denominator[0] <= 0.0 {
        return None;
    }
    let above = resampled_median(&numerator);
    let below = resampled_median(&denominator);
    // Drops the sign of a negative zero.
    let least = (above.first()?.value / below.last()?.value).abs();
    let most = (above.last()?.value / below.first()?.value).abs();
    most.is_finite().then(|| Interval {
        low: first_that(least, most, |ratio| {
            share_up_to(&above, &below, ratio) > tail
        }),
        high: last_that(least, most, |ratio| {
            share_from(&above, &below, ratio) > tail
        }),
        confidence: confidence.min(range_confidence(count)),
    })
}

/// A possible median of a resample, and its probability.
#[derive(Debug, Clone, Copy)]
struct Atom {
    value: f64,
    probability: f64,
}

/// The medians of samples drawn with replacement from a sorted sample, ascending.
fn resampled_median(sorted: &[f64]) -> Vec<Atom> {
    let mut atoms = match sorted.len() % 2 {
        1 => middle_of_odd(sorted),
        _ => middle_of_even(sorted),
    };
    atoms.retain(|atom| atom.probability > PROBABILITY_MIN);
    atoms.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
    atoms
}

/// Probability that at least `rank` of `count` draws fall on the first `index` of `count` values.
fn reaches(count: usize, rank: usize, index: usize) -> f64 {
    match index {
        0 => 0.0,
        index => {
            let share = index as f64 / count as f64;
            beta_reg(rank as f64, (count + 1 - rank) as f64, share)
        }
    }
}

/// The middle draw is value i (from 1) when it falls on the first i, but not on the first i − 1.
fn middle_of_odd(sorted: &[f64]) -> Vec<Atom> {
    let count = sorted.len();
    let rank = count.div_ceil(2);
    let values = sorted.iter().zip(1..);
    let atoms = values.map(|(value, index)| Atom {
        value: *value,
        probability: reaches(count, rank, index) - reaches(count, rank, index - 1),
    });
    atoms.collect()
}

/// The middle draws are values i < j (from 1) when half of the draws fall on the first i, the i-th
/// among them, and half on those from j on, the j-th among them. Otherwise both are the same value.
fn middle_of_even(sorted: &[f64]) -> Vec<Atom> {
    let count = sorted.len();
    let half = count / 2;
    let ways = ln_binomial(count as u64, half as u64);
    // The logarithm of the probability that half of the draws fall on `index` values, including a
    // given one of them.
    let fall = |index: usize| {
        let share = index as f64 / count as f64;
        let without = (index - 1) as f64 / index as f64;
        half as f64 * share.ln() + (-without.powi(half as i32)).ln_1p()
    };
    let mut atoms = Vec::new();
    for low in 1..=count {
        let mut same = reaches(count, half, low) - reaches(count, half, low - 1);
        for high in low + 1..=count {
            let probability = (ways + fall(low) + fall(count + 1 - high)).exp();
            same -= probability;
            atoms.push(Atom {
                value: between(sorted[low - 1], sorted[high - 1], 0.5),
                probability,
            });
        }
        atoms.push(Atom {
            value: sorted[low - 1],
            probability: same,
        });
    }
    atoms
}

/// The probability that the ratio of the medians is at most `ratio`.
fn share_up_to(above: &[Atom], below: &[Atom], ratio: f64) -> f64 {
    let (mut share, mut counted, mut next) = (0.0, 0.0, 0);
    for denominator in below {
        while let Some(numerator) = above.get(next) {
            if numerator.value / denominator.value > ratio {
                break;
            }
            counted += numerator.probability;
            next += 1;
        }
        share += denominator.probability * counted;
    }
    share
}

/// The probability that the ratio of the medians is at least `ratio`.
fn share_from(above: &[Atom], below: &[Atom], ratio: f64) -> f64 {
    let (mut share, mut counted, mut next) = (0.0, 0.0, above.len());
    for denominator in below.iter().rev() {
        while let Some(numerator) = next.checked_sub(1).map(|last| above[last]) {
            if numerator.value / denominator.value < ratio {
                break;
            }
            counted += numerator.probability;
            next -= 1;
        }
        share += denominator.probability * counted;
    }
    share
}

/// The smallest number from `least` to `most` for which `holds`. It must hold for `most` and for
/// every number above the smallest. Non-negative numbers are ordered as their bits are.
fn first_that(least: f64, most: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (least.to_bits(), most.to_bits());
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(f64::from_bits(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    f64::from_bits(high)
}

/// The largest number from `least` to `most` for which `holds`. It must hold for `least` and for
/// every number below the largest.
fn last_that(least: f64, most: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (least.to_bits(), most.to_bits());
    while low < high {
        let middle = high - (high - low) / 2;
        if holds(f64::from_bits(middle)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    f64::from_bits(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Generator;
    use crate::quantile::median;
    use proptest::prelude::*;

    const FIVE: [f64; 5] = [10.0, 11.0, 12.0, 13.0, 14.0];

    #[test]
    fn the_ratio_of_two_fives_spans_their_ranges_and_is_as_sure_as_these() {
        let other = FIVE.map(|value| value * 2.0);
        let interval = ratio_interval(&other, &FIVE, 0.95).unwrap();
        assert_eq!((interval.low, interval.high), (20.0 / 14.0, 28.0 / 10.0));
        assert_eq!(interval.confidence, 0.9375);
        let six = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
        assert_eq!(ratio_interval(&six, &six, 0.95).unwrap().confidence, 0.95);
        assert_eq!(
            ratio_interval(&six, &FIVE, 0.95).unwrap().confidence,
            0.9375
        );
    }

    #[test]
    fn too_few_or_unfit_values_have_no_interval() {
        assert_eq!(ratio_interval(&FIVE, &FIVE[1..], 0.95), None);
        assert_eq!(ratio_interval(&FIVE, &FIVE, 1.0), None);
        assert_eq!(ratio_interval(&FIVE, &FIVE, f64::NAN), None);
        assert_eq!(
            ratio_interval(&[-1.0, 1.0, 1.0, 1.0, 1.0], &FIVE, 0.95),
            None
        );
        let mut unfit = FIVE;
        unfit[2] = f64::NAN;
        assert_eq!(ratio_interval(&FIVE, &unfit, 0.95), None);
        unfit[2] = 0.0;
        assert_eq!(ratio_interval(&FIVE, &unfit, 0.95), None);
        assert!(ratio_interval(&unfit, &FIVE, 0.95).is_some());
        for nought in [0.0, -0.0] {
            let found = ratio_interval(&[nought; 5], &FIVE, 0.95).unwrap();
            assert_eq!((found.low, found.high), (0.0, 0.0));
        }
        assert_eq!(
            ratio_interval(&[f64::MAX; 5], &[f64::MIN_POSITIVE; 5], 0.95),
            None
        );
    }

    /// The probability of each median of a resample, by enumerating all resamples.
    fn by_trying_all(sorted: &[f64]) -> Vec<(f64, f64)> {
        let count = sorted.len();
        let all = count.pow(count as u32);
        let mut found: Vec<(f64, f64)> = Vec::new();
        for sample in 0..all {
            let draw = |place: usize| sorted[sample / count.pow(place as u32) % count];
            let drawn: Vec<f64> = (0..count).map(draw).collect();
            let median = median(&drawn).unwrap();
            match found.iter_mut().find(|(value, _)| *value == median) {
                Some((_, share)) => *share += 1.0 / all as f64,
                None => found.push((median, 1.0 / all as f64)),
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found
    }

    #[test]
    fn medians_are_as_likely_as_trying_all_samples_shows() {
        // Powers of two, so that the mean of every pair is unique.
        let values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        for count in 3..=7 {
            let found = resampled_median(&values[..count]);
            let expected = by_trying_all(&values[..count]);
            assert_eq!(found.len(), expected.len(), "{count}");
            for (atom, (value, share)) in found.iter().zip(expected) {
                assert_eq!(atom.value, value, "{count}");
                assert!((atom.probability - share).abs() < 1e-10, "{count} {value}");
            }
        }
    }

    #[test]
    fn the_interval_is_that_of_many_draws() {
        for (count, seed) in [(6, 1), (8, 2), (9, 3), (12, 4), (20, 5)] {
            let mut generator = Generator::new(seed, 7);
            let mut sample = || -> Vec<f64> {
                let values = (0..count).map(|_| 1.0 + 0.05 * generator.normal());
                values.collect()
            };
            let (above, below) = (sample(), sample());
            let found = ratio_interval(&above, &below, 0.95).unwrap();
            let mut draw = |values: &[f64]| {
                let drawn = (0..count).map(|_| values[generator.below(count) as usize]);
                median(&drawn.collect::<Vec<f64>>()).unwrap()
            };
            let ratios = (0..20_000).map(|_| draw(&above) / draw(&below));
            let ratios: Vec<f64> = ratios.collect();
            let tail = expanded_tail(count as usize, 0.97).unwrap();
            // Of 20,000 draws, about this many are expected beyond an end.
            let most = 20_000.0 * tail + 5.0 * (20_000.0 * tail).sqrt();
            let beyond =
                |is: &dyn Fn(f64) -> bool| ratios.iter().filter(|ratio| is(**ratio)).count() as f64;
            assert!(beyond(&|it| it < found.low) <= most, "{count}");
            assert!(beyond(&|it| it > found.high) <= most, "{count}");
            let least = 20_000.0 * tail - 5.0 * (20_000.0 * tail).sqrt();
            assert!(beyond(&|it| it <= found.low) >= least, "{count}");
            assert!(beyond(&|it| it >= found.high) >= least, "{count}");
        }
    }

    #[test]
    fn many_values_are_no_trouble() {
        let values: Vec<f64> = (0..2_000).map(|index| 1.0 + f64::from(index)).collect();
        let found = ratio_interval(&values, &values, 0.95).unwrap();
        assert!(
            0.85 < found.low && found.low < 1.0 && found.high < 1.15,
            "{found:?}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_samples_panic(
            a in prop::collection::vec(any::<f64>(), 0..8),
            b in prop::collection::vec(any::<f64>(), 0..8),
            confidence: f64,
        ) {
            let _ = ratio_interval(&a, &b, confidence);
        }

        #[test]
        fn medians_add_up_to_one(values in prop::collection::vec(0.1..1e9f64, 1..30)) {
            let sum: f64 = resampled_median(&sorted(&values).unwrap())
                .iter()
                .map(|atom| atom.probability)
                .sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        }

        #[test]
        fn intervals_hold_the_ratio_and_order_does_not_matter(
            mut a in prop::collection::vec(0.1..1e9f64, 5..20),
            b in prop::collection::vec(0.1..1e9f64, 5..20),
        ) {
            let found = ratio_interval(&a, &b, 0.95).unwrap();
            let ratio = median(&a).unwrap() / median(&b).unwrap();
            prop_assert!(found.contains(ratio), "{found:?} {ratio}");
            a.reverse();
            prop_assert_eq!(ratio_interval(&a, &b, 0.95), Some(found));
        }

        #[test]
        fn swapping_the_samples_gives_the_reciprocal(
            a in prop::collection::vec(0.1..1e9f64, 5..12),
            b in prop::collection::vec(0.1..1e9f64, 5..12),
        ) {
            let straight = ratio_interval(&a, &b, 0.95).unwrap();
            let swapped = ratio_interval(&b, &a, 0.95).unwrap();
            prop_assert!((straight.low * swapped.high - 1.0).abs() < 1e-12);
            prop_assert!((straight.high * swapped.low - 1.0).abs() < 1e-12);
            prop_assert_eq!(straight.contains(1.0), swapped.contains(1.0));
        }

        #[test]
        fn the_unit_does_not_matter(
            a in prop::collection::vec(1.0..1e6f64, 5..12),
            b in prop::collection::vec(1.0..1e6f64, 5..12),
        ) {
            // Scaling by a power of two does not round.
            let scaled: Vec<f64> = a.iter().map(|value| value * 1024.0).collect();
            let found = ratio_interval(&a, &b, 0.95).unwrap();
            let larger = ratio_interval(&scaled, &b, 0.95).unwrap();
            prop_assert_eq!(found.low * 1024.0, larger.low);
            prop_assert_eq!(found.high * 1024.0, larger.high);
        }
    }
}
