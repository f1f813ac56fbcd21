//! Intervals for a median and for the ratio of two medians, by resampling.

use crate::generator::Generator;
use crate::percentile::expanded_tail;
use crate::quantile::{between, sorted};

/// How often a sample is resampled. Hesterberg (2015) advises 10 000 for routine use.
pub const RESAMPLES: usize = 10_000;

/// The fewest values an interval is made from.
///
/// The interval cannot be wider than the sample, and the range of n values misses the median with
/// probability 2^(1−n): 6 % for five values, 12 % for four, 25 % for three. For a ratio, two
/// samples of n that do not differ lie apart entirely with probability 2 / C(2n, n): under 1 % for
/// five values, 10 % for three. Below five, no interval is honest, so there is none.
pub const VALUES_MIN: usize = 5;

/// An interval, its ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end, not below `low`.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in the interval.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half the width, as a share of `center`: 0.02 reads "within 2 %".
    ///
    /// `None` when the center is 0 or the result is not finite.
    pub fn relative_half_width(&self, center: f64) -> Option<f64> {
        let share = (self.high / 2.0 - self.low / 2.0) / center.abs();
        share.is_finite().then_some(share)
    }
}

/// An interval for the median of the distribution that `values` were drawn from: the bootstrap
/// percentile interval (Efron & Tibshirani 1993, chapter 13) with the expanded percentiles of
/// Hesterberg 2015 (see [`expanded_tail`]).
///
/// `seed` fixes the resampling: the same values in any order and the same seed give the same
/// interval. `None` for fewer than [`VALUES_MIN`] values, for a value that is not finite, and for
/// a confidence outside 0..1.
pub fn median_interval(values: &[f64], confidence: f64, seed: u64) -> Option<Interval> {
    let tail = tail_for(values.len(), confidence)?;
    let medians = resampled_medians(&sorted(values)?, seed, 0);
    interval_of(medians, tail)
}

/// An interval for the ratio of the medians of two independent samples, numerator over
/// denominator: both are resampled independently, the ratios of the resampled medians form the
/// bootstrap distribution.
///
/// The expanded percentiles are those of the smaller sample, which is the cautious choice: its
/// degrees of freedom are at most those of the comparison. Swapping the samples gives the
/// reciprocal interval (to the last digit), so a verdict does not depend on the order of naming.
///
/// `None` when either sample has fewer than [`VALUES_MIN`] values, when a value is not finite,
/// when a value of the denominator is not positive or one of the numerator negative (rates are
/// meant), and for a confidence outside 0..1.
pub fn ratio_interval(
    numerator: &[f64],
    denominator: &[f64],
    confidence: f64,
    seed: u64,
) -> Option<Interval> {
    let tail = tail_for(numerator.len().min(denominator.len()), confidence)?;
    let (numerator, denominator) = (sorted(numerator)?, sorted(denominator)?);
    if numerator[0] < 0.0 || denominator[0] <= 0.0 {
        return None;
    }
    // Streams go with the samples, not with their roles, so that swapping gives the reciprocal.
    let in_order = numerator.iter().le(denominator.iter());
    let (first, second) = if in_order { (0, 1) } else { (1, 0) };
    let above = resampled_medians(&numerator, seed, first);
    let below = resampled_medians(&denominator, seed, second);
    let ratios = above.iter().zip(&below).map(|(a, b)| a / b).collect();
    interval_of(ratios, tail)
}

/// The share to leave out at each end, if an interval can be made at all.
fn tail_for(count: usize, confidence: f64) -> Option<f64> {
    if count < VALUES_MIN {
        return None;
    }
    expanded_tail(count, confidence)
}

/// The medians of [`RESAMPLES`] samples drawn with replacement from a sorted sample.
fn resampled_medians(sorted: &[f64], seed: u64, stream: u64) -> Vec<f64> {
    let mut generator = Generator::new(seed, stream);
    let mut drawn = vec![0; sorted.len()];
    (0..RESAMPLES)
        .map(|_| resampled_median(sorted, &mut generator, &mut drawn))
        .collect()
}

/// The median of one sample drawn with replacement from a sorted sample. `drawn` is room for how
/// often each value was drawn.
fn resampled_median(sorted: &[f64], generator: &mut Generator, drawn: &mut [u32]) -> f64 {
    drawn.fill(0);
    let count = sorted.len() as u32;
    for _ in 0..count {
        drawn[generator.below(count) as usize] += 1;
    }
    let low = sorted[index_of_rank(drawn, (count - 1) / 2)];
    let high = sorted[index_of_rank(drawn, count / 2)];
    between(low, high, 0.5)
}

/// Index of the value at `rank` (from 0) of a sample in which value i occurs `drawn[i]` times.
fn index_of_rank(drawn: &[u32], rank: u32) -> usize {
    let mut seen = 0;
    drawn
        .iter()
        .position(|count| {
            seen += count;
            seen > rank
        })
        .expect("the counts add up to the sample size, and a rank is below it")
}

/// The interval that leaves out the share `tail` of the bootstrap distribution at each end,
/// rounded outwards. `None` if the distribution is empty or not finite.
fn interval_of(mut bootstrap: Vec<f64>, tail: f64) -> Option<Interval> {
    let left_out = (tail * bootstrap.len() as f64).floor() as usize;
    let last = bootstrap.len().checked_sub(left_out + 1)?;
    if left_out > last || !bootstrap.iter().all(|value| value.is_finite()) {
        return None;
    }
    let (_, low, above) = bootstrap.select_nth_unstable_by(left_out, f64::total_cmp);
    let low = *low;
    let high = match last - left_out {
        0 => low,
        from_low => *above.select_nth_unstable_by(from_low - 1, f64::total_cmp).1,
    };
    Some(Interval { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIVE: [f64; 5] = [10.0, 11.0, 12.0, 13.0, 14.0];

    #[test]
    fn five_values_give_their_range() {
        // The smallest value is the median of a resample with probability 0.058, far more than
        // the 0.00095 that is left out.
        let expected = Interval {
            low: 10.0,
            high: 14.0,
        };
        assert_eq!(median_interval(&FIVE, 0.95, 1), Some(expected));
    }

    #[test]
    fn the_ratio_of_two_fives_spans_their_ranges() {
        let other = FIVE.map(|value| value * 2.0);
        let interval = ratio_interval(&other, &FIVE, 0.95, 1).unwrap();
        assert_eq!((interval.low, interval.high), (20.0 / 14.0, 28.0 / 10.0));
    }

    #[test]
    fn too_few_or_unfit_values_have_no_interval() {
        assert_eq!(median_interval(&[], 0.95, 0), None);
        assert_eq!(median_interval(&FIVE[..4], 0.95, 0), None);
        assert_eq!(median_interval(&FIVE, 1.0, 0), None);
        assert_eq!(median_interval(&FIVE, f64::NAN, 0), None);
        let mut unfit = FIVE;
        unfit[2] = f64::NAN;
        assert_eq!(median_interval(&unfit, 0.95, 0), None);
        assert_eq!(ratio_interval(&FIVE, &unfit, 0.95, 0), None);
        assert_eq!(ratio_interval(&FIVE, &FIVE[1..], 0.95, 0), None);
        unfit[2] = 0.0;
        assert_eq!(ratio_interval(&FIVE, &unfit, 0.95, 0), None);
        assert!(ratio_interval(&unfit, &FIVE, 0.95, 0).is_some());
    }

    #[test]
    fn relative_half_width_is_a_share_of_the_center() {
        let interval = Interval {
            low: 98.0,
            high: 102.0,
        };
        assert_eq!(interval.relative_half_width(100.0), Some(0.02));
        assert_eq!(interval.relative_half_width(-100.0), Some(0.02));
        assert_eq!(interval.relative_half_width(0.0), None);
        assert_eq!(interval.relative_half_width(f64::NAN), None);
    }

    /// The chance that the median of a resample of `n` (odd) values is at most the value of rank
    /// `j` (from 1): more than half of n draws fall on the first j values.
    fn exact_cdf_of_the_resampled_median(n: u32, j: u32) -> f64 {
        let p = f64::from(j) / f64::from(n);
        let choose = |k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
        (n.div_ceil(2)..=n)
            .map(|k| choose(k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32))
            .sum()
    }

    #[test]
    fn resampled_medians_have_the_distribution_that_can_be_computed() {
        for n in [5u32, 7, 11, 21] {
            let sample: Vec<f64> = (1..=n).map(f64::from).collect();
            let medians = resampled_medians(&sample, 17, 3);
            for j in 1..n {
                let exact = exact_cdf_of_the_resampled_median(n, j);
                let below = medians.iter().filter(|m| **m <= f64::from(j)).count();
                let seen = below as f64 / RESAMPLES as f64;
                // Five standard errors of a share out of 10 000, at most 0.025.
                let allowed = 5.0 * (exact * (1.0 - exact) / RESAMPLES as f64).sqrt() + 1e-3;
                assert!((seen - exact).abs() < allowed, "{n} {j}: {seen} {exact}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn no_sample_panics(
            a in prop::collection::vec(any::<f64>(), 0..8),
            b in prop::collection::vec(any::<f64>(), 0..8),
            confidence: f64,
            seed: u64,
        ) {
            let _ = median_interval(&a, confidence, seed);
            let _ = ratio_interval(&a, &b, confidence, seed);
        }

        #[test]
        fn intervals_hold_the_median_and_lie_within_the_sample(
            values in prop::collection::vec(0.1..1e9f64, 5..20),
            seed: u64,
        ) {
            let sorted = sorted(&values).unwrap();
            let interval = median_interval(&values, 0.95, seed).unwrap();
            prop_assert!(interval.contains(crate::median(&values).unwrap()));
            prop_assert!(sorted[0] <= interval.low);
            prop_assert!(interval.high <= sorted[sorted.len() - 1]);
        }

        #[test]
        fn order_does_not_matter(
            mut values in prop::collection::vec(0.1..1e9f64, 5..20),
            seed: u64,
        ) {
            let before = median_interval(&values, 0.95, seed);
            values.reverse();
            prop_assert_eq!(before, median_interval(&values, 0.95, seed));
        }

        #[test]
        fn swapping_the_samples_gives_the_reciprocal(
            a in prop::collection::vec(0.1..1e9f64, 5..12),
            b in prop::collection::vec(0.1..1e9f64, 5..12),
            seed: u64,
        ) {
            let straight = ratio_interval(&a, &b, 0.95, seed).unwrap();
            let swapped = ratio_interval(&b, &a, 0.95, seed).unwrap();
            prop_assert!((straight.low * swapped.high - 1.0).abs() < 1e-12);
            prop_assert!((straight.high * swapped.low - 1.0).abs() < 1e-12);
            prop_assert_eq!(straight.contains(1.0), swapped.contains(1.0));
        }

        #[test]
        fn the_unit_does_not_matter(
            values in prop::collection::vec(1.0..1e6f64, 5..12),
            seed: u64,
        ) {
            // A power of two scales without rounding.
            let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0).collect();
            let interval = median_interval(&values, 0.95, seed).unwrap();
            let larger = median_interval(&scaled, 0.95, seed).unwrap();
            prop_assert_eq!(interval.low * 1024.0, larger.low);
            prop_assert_eq!(interval.high * 1024.0, larger.high);
        }
    }
}
