//! Order statistics of one sample: median and quantiles.

/// The median: the middle value, or the mean of the two middle values.
///
/// `None` for an empty sample, and for one that contains NaN or an infinity.
pub fn median(values: &[f64]) -> Option<f64> {
    sorted(values).map(|sorted| median_of_sorted(&sorted))
}

/// The quantile at `probability` by definition 7 of Hyndman & Fan (1996, "Sample Quantiles in
/// Statistical Packages", The American Statistician 50): linear between order statistics, so that
/// probability 0 gives the smallest value, 1 the largest and 0.5 the [`median`].
///
/// `None` for an empty sample, for one that contains NaN or an infinity, and for a probability
/// outside 0..=1.
pub fn quantile(values: &[f64], probability: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&probability) {
        return None;
    }
    let sorted = sorted(values)?;
    let position = probability * (sorted.len() - 1) as f64;
    let (below, above) = (position.floor() as usize, position.ceil() as usize);
    Some(between(
        sorted[below],
        sorted[above],
        position - below as f64,
    ))
}

/// The values in ascending order; `None` if there are none, or one of them is not finite.
pub(crate) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// The median of a sorted, non-empty sample.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        between(sorted[middle - 1], sorted[middle], 0.5)
    }
}

/// The point that lies `share` of the way from `low` to `high`. Avoids overflow for values near the
/// largest `f64`, and returns exactly the common value for equal ends.
pub(crate) fn between(low: f64, high: f64, share: f64) -> f64 {
    if low == high {
        low
    } else {
        low * (1.0 - share) + high * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn median_is_the_middle_or_the_mean_of_the_middle_two() {
        fn check(values: &[f64], expected: Option<f64>) {
            assert_eq!(median(values), expected, "{values:?}");
        }
        check(&[], None);
        check(&[7.0], Some(7.0));
        check(&[3.0, 1.0, 2.0], Some(2.0));
        check(&[4.0, 1.0, 3.0, 2.0], Some(2.5));
        check(&[1.0, f64::NAN], None);
        check(&[1.0, f64::INFINITY, 2.0], None);
        check(&[f64::MAX, f64::MAX], Some(f64::MAX));
        // Of the article's three runs of one test, the median would be the middle one.
        check(&[4_551_737.9, 4_685_712.3], Some(4_618_725.1));
    }

    #[test]
    fn quantiles_follow_definition_seven() {
        fn check(probability: f64, expected: Option<f64>) {
            assert_eq!(quantile(&[40.0, 10.0, 20.0, 30.0], probability), expected);
        }
        check(0.0, Some(10.0));
        check(0.25, Some(17.5));
        check(0.5, Some(25.0));
        check(0.75, Some(32.5));
        check(1.0, Some(40.0));
        check(-0.1, None);
        check(1.1, None);
        check(f64::NAN, None);
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[5.0], 0.99), Some(5.0));
    }

    proptest! {
        #[test]
        fn no_sample_panics(values in prop::collection::vec(any::<f64>(), 0..40), p: f64) {
            let _ = (median(&values), quantile(&values, p));
        }

        #[test]
        fn order_does_not_matter(
            mut values in prop::collection::vec(-1e12..1e12f64, 1..40),
            p in 0.0..=1.0f64,
        ) {
            let before = (median(&values), quantile(&values, p));
            values.reverse();
            prop_assert_eq!(before, (median(&values), quantile(&values, p)));
        }

        #[test]
        fn the_median_is_the_quantile_of_a_half(
            values in prop::collection::vec(-1e12..1e12f64, 1..40),
        ) {
            prop_assert_eq!(median(&values), quantile(&values, 0.5));
        }

        #[test]
        fn quantiles_lie_within_the_sample(
            values in prop::collection::vec(-1e12..1e12f64, 1..40),
            p in 0.0..=1.0f64,
        ) {
            let q = quantile(&values, p).unwrap();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let slack = 1e-15 * high.abs().max(low.abs());
            prop_assert!(low - slack <= q && q <= high + slack);
        }
    }
}
