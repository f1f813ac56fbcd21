//! The ratio of two cases from the rounds that contain both.

use crate::interval::{Interval, VALUES_MIN, is_probability};
use crate::percentile::student_t_quantile;

/// An estimated ratio and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The ratio.
    pub ratio: f64,
    /// Its interval, which contains `ratio`.
    pub interval: Interval,
}

/// The ratio of two cases, numerator over denominator, from the ratios within rounds: value i of
/// each belongs to round i, `None` where the case has no valid value. A disturbance of a whole
/// round affects both values alike and leaves their ratio unchanged.
///
/// The estimate is the geometric mean of the ratios. The interval is Student's (1908) for the mean
/// of the logarithms of the ratios. If the two cases do not differ and each round's trials run in
/// random order, a logarithm is as likely to be positive as negative, whatever the noise: the
/// distribution that the interval assumes to be normal is at least symmetric.
///
/// Swapping the two gives the exact reciprocal. `None` when fewer than [`VALUES_MIN`] rounds
/// contain both, when a value is not positive and finite, and for a confidence outside 0..1.
pub fn ratio_by_rounds(
    numerator: &[Option<f64>],
    denominator: &[Option<f64>],
    confidence: f64,
) -> Option<Estimate> {
    let both = numerator.iter().zip(denominator);
    let both = both.filter_map(|(above, below)| Some(((*above)?, (*below)?)));
    let logarithms = both.map(|(above, below)| {
        // A value that is not positive and finite has no finite logarithm either.
        let logarithm = above.ln() - below.ln();
        logarithm.is_finite().then_some(logarithm)
    });
    let logarithms = logarithms.collect::<Option<Vec<f64>>>()?;
    if logarithms.len() < VALUES_MIN || !is_probability(confidence) {
        return None;
    }
    let count = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / count;
    let squares = logarithms.iter().map(|value| (value - mean).powi(2));
    let deviation = (squares.sum::<f64>() / (count - 1.0)).sqrt();
    let degrees_of_freedom = u32::try_from(logarithms.len() - 1).ok()?;
    let t = student_t_quantile(0.5 + confidence / 2.0, degrees_of_freedom)?;
    let half_width = t * deviation / count.sqrt();
    let (ratio, low, high) = (
        mean.exp(),
        (mean - half_width).exp(),
        (mean + half_width).exp(),
    );
    let finite = low > 0.0 && high.is_finite();
    finite.then_some(Estimate {
        ratio,
        interval: Interval {
            low,
            high,
            confidence,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn what_disturbs_a_round_does_not_widen_the_interval() {
        // Rounds of 100, 50, 80, 20 and 90 % of the machine; the case does twice the baseline.
        let baseline = all(&[100.0, 50.0, 80.0, 20.0, 90.0]);
        let case = all(&[200.0, 100.0, 160.0, 40.0, 180.0]);
        let found = ratio_by_rounds(&case, &baseline, 0.95).unwrap();
        for value in [found.ratio, found.interval.low, found.interval.high] {
            assert!((value - 2.0).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn the_interval_is_that_of_students_paper() {
        // Student 1908, section IX: the additional hours of sleep of ten patients under one drug
        // over the other have the mean 1.58 and the standard deviation 1.17 (divided by n), so
        // 1.230 divided by n − 1; t(0.975, 9) is 2.262 in every table.
        let hours = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4f64];
        let case = all(&hours.map(f64::exp));
        let found = ratio_by_rounds(&case, &all(&[1.0; 10]), 0.95).unwrap();
        assert!((found.ratio.ln() - 1.58).abs() < 1e-9);
        let half_width = 2.262_157 * 1.229_995 / 10f64.sqrt();
        assert!(
            (found.interval.high.ln() - 1.58 - half_width).abs() < 1e-5,
            "{found:?}"
        );
        assert!(
            (found.interval.low.ln() - 1.58 + half_width).abs() < 1e-5,
            "{found:?}"
        );
    }

    #[test]
    fn rounds_that_lack_one_of_the_two_are_left_out() {
        let mut case = all(&[2.0; 6]);
        let baseline = all(&[1.0; 6]);
        case[3] = None;
        assert_eq!(ratio_by_rounds(&case, &baseline, 0.95).unwrap().ratio, 2.0);
        case[0] = None;
        assert_eq!(ratio_by_rounds(&case, &baseline, 0.95), None);
    }

    #[test]
    fn unfit_values_have_no_ratio() {
        let fit = all(&[1.0; 5]);
        assert_eq!(ratio_by_rounds(&fit, &fit, 1.0), None);
        assert_eq!(ratio_by_rounds(&fit, &fit, f64::NAN), None);
        for unfit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut values = fit.clone();
            values[2] = Some(unfit);
            assert_eq!(ratio_by_rounds(&values, &fit, 0.95), None, "{unfit}");
            assert_eq!(ratio_by_rounds(&fit, &values, 0.95), None, "{unfit}");
        }
    }

    #[test]
    fn an_interval_with_an_end_that_no_number_can_be_is_none() {
        // The mean logarithm is -572, Student's half-width 327: the lower end is 10⁻³⁹⁰.
        let case = all(&[1e-300, 1e-300, 1e-300, 1e-300, 1e-43]);
        let ones = all(&[1.0; 5]);
        assert_eq!(ratio_by_rounds(&case, &ones, 0.95), None);
        assert_eq!(ratio_by_rounds(&ones, &case, 0.95), None);
        assert!(ratio_by_rounds(&case, &ones, 0.5).is_some());
    }

    proptest! {
        #[test]
        fn no_values_panic(
            a in prop::collection::vec(any::<Option<f64>>(), 0..9),
            b in prop::collection::vec(any::<Option<f64>>(), 0..9),
            confidence: f64,
        ) {
            let _ = ratio_by_rounds(&a, &b, confidence);
        }

        #[test]
        fn swapping_gives_the_reciprocal(
            values in prop::collection::vec((0.1..1e9f64, 0.1..1e9f64), 5..12),
        ) {
            let a: Vec<Option<f64>> = values.iter().map(|(a, _)| Some(*a)).collect();
            let b: Vec<Option<f64>> = values.iter().map(|(_, b)| Some(*b)).collect();
            // Ratios that differ this widely may have ends beyond the range of `f64`.
            if let Some(straight) = ratio_by_rounds(&a, &b, 0.95) {
                let swapped = ratio_by_rounds(&b, &a, 0.95).unwrap();
                prop_assert!((straight.ratio * swapped.ratio - 1.0).abs() < 1e-9);
                let ends = straight.interval.low * swapped.interval.high;
                prop_assert!((ends - 1.0).abs() < 1e-9);
                prop_assert!(straight.interval.contains(straight.ratio));
            }
        }
    }
}
