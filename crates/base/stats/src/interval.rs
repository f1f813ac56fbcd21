//! Intervals and their confidence: of a median, between two values of the sample itself, and of a
//! proportion.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

use crate::quantile::sorted;

/// The fewest values an interval is made from.
///
/// No interval from a sample is wider than the sample, and the range of n values misses the median
/// with probability 2^(1−n): 6 % for five values, 12 % for four, 25 % for three. For a ratio, two
/// samples of n values that do not differ are fully separated with probability 2 / C(2n, n): under
/// 1 % for five values, 10 % for three. Below five, no interval is honest, so there is none.
pub const VALUES_MIN: usize = 5;

/// Whether this is a probability strictly between 0 and 1.
pub(crate) fn is_probability(value: f64) -> bool {
    value > 0.0 && value < 1.0
}

/// An interval, its ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end, not below `low`.
    pub high: f64,
    /// How often intervals computed like this one contain the true value, at least: 0.95.
    pub confidence: f64,
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

    /// The interval of 1 / x.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Interval {
            low: 1.0 / self.high,
            high: 1.0 / self.low,
            confidence: self.confidence,
        }
    }
}

/// An interval for the median of the distribution that `values` were drawn from: from the k-th
/// smallest of them to the k-th largest, with the largest k whose confidence is at least
/// `confidence`. Where even the range (k = 1) has a lower confidence, it is the range.
///
/// Each value lies below the median with probability ½ whatever the distribution, so the interval
/// misses it when fewer than k of n coins show one side: its confidence, which it carries, is
/// 1 − 2 P(B(n, ½) < k) for a continuous distribution and at least that for any other (Thompson
/// 1936, "On Confidence Ranges for the Median and Other Expectation Distributions", The Annals of
/// Mathematical Statistics 7).
///
/// `None` for fewer than [`VALUES_MIN`] values, for a value that is not finite, and for a
/// confidence outside 0..1 (both ends excluded).
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if values.len() < VALUES_MIN || !is_probability(confidence) {
        return None;
    }
    let sorted = sorted(values)?;
    let coins = Binomial::new(0.5, u64::try_from(sorted.len()).ok()?).ok()?;
    // Round off the last digits, which are arithmetic errors.
    let held = |left_out: usize| ((1.0 - 2.0 * coins.cdf(left_out as u64)) * 1e12).round() / 1e12;
    // Values left out at each end: never half of them, which would have no confidence at all.
    let most = (1..sorted.len()).take_while(|left_out| held(*left_out) >= confidence);
    let left_out = most.last().unwrap_or(0);
    Some(Interval {
        low: sorted[left_out],
        high: sorted[sorted.len() - 1 - left_out],
        confidence: held(left_out),
    })
}

/// The confidence of the range of this many values as an interval of their median.
pub(crate) fn range_confidence(count: usize) -> f64 {
    1.0 - 0.5f64.powi(i32::try_from(count).unwrap_or(i32::MAX) - 1)
}

/// The interval for a proportion of a population, where `found` of `sampled` random members have
/// the property: Wilson's (1927, "Probable inference, the law of succession, and statistical
/// inference", JASA 22). It also keeps its confidence near proportions of 0 and 1 (Brown, Cai and
/// DasGupta 2001, "Interval Estimation for a Binomial Proportion", Statistical Science 16).
///
/// `None` for an empty sample, more found than sampled, and a confidence outside 0..1 (both ends
/// excluded).
pub fn proportion_interval(found: u64, sampled: u64, confidence: f64) -> Option<Interval> {
    if sampled == 0 || found > sampled || !is_probability(confidence) {
        return None;
    }
    let z = Normal::standard().inverse_cdf(0.5 + confidence / 2.0);
    let (count, share) = (sampled as f64, found as f64 / sampled as f64);
    let shrink = 1.0 + z * z / count;
    let middle = (share + z * z / (2.0 * count)) / shrink;
    let spread = share * (1.0 - share) / count + z * z / (4.0 * count * count);
    let half = z * spread.sqrt() / shrink;
    // Set exact ends where rounding would be slightly off.
    let low = if found == 0 {
        0.0
    } else {
        (middle - half).max(0.0)
    };
    let high = if found == sampled {
        1.0
    } else {
        (middle + half).min(1.0)
    };
    Some(Interval {
        low,
        high,
        confidence,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn relative_half_width_is_a_share_of_the_center() {
        let interval = Interval {
            low: 98.0,
            high: 102.0,
            confidence: 0.95,
        };
        assert_eq!(interval.relative_half_width(100.0), Some(0.02));
        assert_eq!(interval.relative_half_width(-100.0), Some(0.02));
        assert_eq!(interval.relative_half_width(0.0), None);
        assert_eq!(interval.relative_half_width(f64::NAN), None);
    }

    #[test]
    fn an_interval_holds_its_ends_and_what_is_between_them() {
        let interval = Interval {
            low: 2.0,
            high: 4.0,
            confidence: 0.95,
        };
        let inside = [1.9, 2.0, 3.0, 4.0, 4.1, f64::NAN].map(|value| interval.contains(value));
        assert_eq!(inside, [false, true, true, true, false, false]);
        let expected = Interval {
            low: 0.25,
            high: 0.5,
            confidence: 0.95,
        };
        assert_eq!(interval.inverse(), expected);
    }

    #[test]
    fn what_is_certain_or_impossible_is_no_probability_here() {
        let found = [-0.1, 0.0, 1e-300, 0.5, 1.0, 1.1, f64::NAN].map(is_probability);
        assert_eq!(found, [false, false, true, true, false, false, false]);
    }

    fn sample(count: usize) -> Vec<f64> {
        (1..=count).map(|rank| rank as f64).collect()
    }

    #[test]
    fn ranks_and_confidence_are_those_of_the_published_table() {
        // Ranks of the lower ends and confidence, from the probability of fewer heads than that.
        for (count, rank, confidence) in [
            (5, 1.0, 0.9375),
            (6, 1.0, 0.968_75),
            (7, 1.0, 0.984_375),
            (8, 1.0, 0.992_187_5),
            (9, 2.0, 0.960_937_5),
            (10, 2.0, 0.978_515_625),
            (11, 2.0, 0.988_281_25),
            (12, 3.0, 0.961_425_781_25),
            (20, 6.0, 0.958_610_534_667_968_8),
        ] {
            let found = median_interval(&sample(count), 0.95).unwrap();
            let ends = (found.low, found.high);
            assert_eq!(ends, (rank, count as f64 + 1.0 - rank), "{count}");
            assert!((found.confidence - confidence).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn the_range_of_few_values_is_less_sure_than_was_asked_for() {
        let found = median_interval(&sample(5), 0.99).unwrap();
        assert_eq!((found.low, found.high), (1.0, 5.0));
        assert!((found.confidence - range_confidence(5)).abs() < 1e-12);
    }

    #[test]
    fn too_few_or_unfit_values_have_no_interval() {
        assert_eq!(median_interval(&[], 0.95), None);
        assert_eq!(median_interval(&sample(4), 0.95), None);
        for confidence in [0.0, 1.0, f64::NAN] {
            assert_eq!(median_interval(&sample(5), confidence), None);
        }
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, f64::NAN], 0.95), None);
    }

    proptest! {
        #[test]
        fn no_sample_panics(values in prop::collection::vec(any::<f64>(), 0..40), confidence: f64) {
            let _ = median_interval(&values, confidence);
        }

        #[test]
        fn intervals_hold_the_median_and_are_as_sure_as_asked_for(
            values in prop::collection::vec(0.1..1e9f64, 6..60),
            confidence in 0.5..0.96f64,
        ) {
            let found = median_interval(&values, confidence).unwrap();
            prop_assert!(found.contains(crate::median(&values).unwrap()));
            prop_assert!(found.confidence >= confidence);
            let mut reversed = values.clone();
            reversed.reverse();
            prop_assert_eq!(median_interval(&reversed, confidence), Some(found));
            let surer = median_interval(&values, 0.99).unwrap();
            prop_assert!(surer.low <= found.low && found.high <= surer.high);
        }
    }

    #[test]
    fn it_agrees_with_published_intervals() {
        // Newcombe (1998, Statistics in Medicine 17, 857-872), table I, method 3: Wilson's score.
        let check = |found, sampled, low: f64, high: f64| {
            let interval = proportion_interval(found, sampled, 0.95).unwrap();
            assert!((interval.low - low).abs() < 5e-5, "{interval:?}");
            assert!((interval.high - high).abs() < 5e-5, "{interval:?}");
        };
        check(81, 263, 0.2553, 0.3662);
        check(15, 148, 0.0624, 0.1605);
        check(0, 20, 0.0, 0.1611);
        check(1, 29, 0.0061, 0.1718);
        // The mirror image of 0 of 20.
        check(20, 20, 0.8389, 1.0);
        for confidence in [0.0, 1.0] {
            assert_eq!(proportion_interval(1, 2, confidence), None);
        }
        assert_eq!(proportion_interval(1, 0, 0.95), None);
        assert_eq!(proportion_interval(2, 1, 0.95), None);
    }

    proptest! {
        #[test]
        fn the_share_of_the_sample_lies_in_it(sampled in 1..100_000_u64, part in 0.0..=1.0_f64) {
            let found = (sampled as f64 * part) as u64;
            let interval = proportion_interval(found, sampled, 0.95).unwrap();
            prop_assert!(interval.contains(found as f64 / sampled as f64));
            prop_assert!(0.0 <= interval.low && interval.high <= 1.0);
        }
    }
}
