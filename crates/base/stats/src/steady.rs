//! Whether a load has warmed up: its rate is stable.

use crate::quantile::median;

/// Whether the last `window` samples are steady: their median and that of the `window` samples
/// before them differ by at most `tolerance`, as a share of the earlier one.
///
/// Uses medians, so that one disturbed sample neither hides nor simulates a drift. This detects a
/// rate that still climbs by more than `tolerance` per window. A slower drift passes; the limit on
/// the warm-up's length and the trial's stored samples reveal it.
///
/// `None` while it is undecided: fewer than two windows of samples, a window of 0, a sample that is
/// not finite, an earlier median of 0, or a tolerance that is negative or NaN.
pub fn is_steady(samples: &[f64], window: usize, tolerance: f64) -> Option<bool> {
    // This comparison is also false for NaN.
    let tolerance_is_fit = tolerance >= 0.0;
    let before = samples.len().checked_sub(window.checked_mul(2)?)?;
    if window == 0 || !tolerance_is_fit {
        return None;
    }
    let (earlier, later) = samples[before..].split_at(window);
    let (earlier, later) = (median(earlier)?, median(later)?);
    let moved = ((later - earlier) / earlier).abs();
    moved.is_finite().then_some(moved <= tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(samples: &[f64], window: usize, expected: Option<bool>) {
        assert_eq!(is_steady(samples, window, 0.02), expected, "{samples:?}");
    }

    #[test]
    fn a_climbing_rate_is_not_steady_and_a_level_one_is() {
        check(&[10.0, 20.0, 40.0, 80.0, 90.0, 95.0], 3, Some(false));
        check(
            &[10.0, 20.0, 40.0, 99.0, 101.0, 100.0, 100.5, 99.5, 100.0],
            3,
            Some(true),
        );
        check(&[100.0, 102.0], 1, Some(true));
        check(&[100.0, 103.0], 1, Some(false));
        check(&[100.0, 97.0], 1, Some(false));
    }

    #[test]
    fn one_disturbed_sample_decides_nothing() {
        check(&[100.0, 5.0, 100.0, 100.0, 900.0, 100.0], 3, Some(true));
    }

    #[test]
    fn too_little_or_unfit_is_none() {
        check(&[], 3, None);
        check(&[1.0, 1.0, 1.0], 2, None);
        check(&[1.0, 1.0], 0, None);
        check(&[1.0, 1.0], usize::MAX, None);
        check(&[1.0, f64::NAN], 1, None);
        check(&[0.0, 1.0], 1, None);
        assert_eq!(is_steady(&[1.0, 1.0], 1, -0.1), None);
        assert_eq!(is_steady(&[1.0, 1.0], 1, f64::NAN), None);
    }

    proptest! {
        #[test]
        fn no_samples_panic(
            samples in prop::collection::vec(any::<f64>(), 0..20),
            window: usize,
            short in 0usize..6,
            tolerance: f64,
        ) {
            let _ = is_steady(&samples, window, tolerance);
            let _ = is_steady(&samples, short, tolerance);
        }

        #[test]
        fn a_constant_rate_is_steady(rate in 0.1..1e9f64, len in 2usize..20) {
            prop_assert_eq!(is_steady(&vec![rate; len], len / 2, 0.0), Some(true));
        }
    }
}
