//! An interval for a median with exactly known confidence: between two values of the sample itself.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::interval::{Interval, VALUES_MIN, is_probability};
use crate::quantile::sorted;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
