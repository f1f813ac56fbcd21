//! The interval of a proportion estimated from a random sample.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::interval::{Interval, is_probability};

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
    use super::*;
    use proptest::prelude::*;

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
