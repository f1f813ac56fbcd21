//! The percentiles of a bootstrap distribution that give honest intervals for small samples.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::interval::is_probability;

/// The quantile of Student's t distribution with `degrees_of_freedom` at `probability`.
///
/// `None` for a probability outside 0..1 (both ends excluded) and for no degrees of freedom.
pub(crate) fn student_t_quantile(probability: f64, degrees_of_freedom: u32) -> Option<f64> {
    if degrees_of_freedom == 0 || !is_probability(probability) {
        return None;
    }
    let distribution = StudentsT::new(0.0, 1.0, f64::from(degrees_of_freedom)).ok()?;
    Some(distribution.inverse_cdf(probability))
}

/// The share of a bootstrap distribution to leave out at each end, for a two-sided interval of
/// `confidence` from a sample of `count` values.
///
/// The plain percentile interval leaves out (1 − confidence) / 2 and is too narrow for small
/// samples: the bootstrap's spread is too small by the factor sqrt((n − 1) / n), and it uses a
/// normal tail where Student's belongs. The expanded percentiles of Hesterberg (2015, "What
/// Teachers Should Know About the Bootstrap", The American Statistician 69) correct both:
///
/// ```text
/// α'/2 = Φ(−sqrt(n / (n − 1)) · t(1 − α/2, n − 1))        with α = 1 − confidence
/// ```
///
/// They were derived for means. For medians they are a heuristic, tested by this crate's coverage
/// tests (tests/all/coverage.rs).
///
/// `None` for fewer than two values and for a confidence outside 0..1 (both ends excluded).
pub(crate) fn expanded_tail(count: usize, confidence: f64) -> Option<f64> {
    if count < 2 || !is_probability(confidence) {
        return None;
    }
    let degrees_of_freedom = u32::try_from(count - 1).ok()?;
    let t = student_t_quantile(0.5 + confidence / 2.0, degrees_of_freedom)?;
    let inflation = (count as f64 / (count as f64 - 1.0)).sqrt();
    Some(Normal::standard().cdf(-inflation * t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn student_t_agrees_with_the_published_table() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2: upper critical
        // values of Student's t distribution, three decimals.
        const TABLE: [(u32, f64, f64); 14] = [
            (1, 0.95, 6.314),
            (1, 0.975, 12.706),
            (2, 0.975, 4.303),
            (4, 0.90, 1.533),
            (4, 0.975, 2.776),
            (4, 0.995, 4.604),
            (7, 0.975, 2.365),
            (9, 0.99, 2.821),
            (11, 0.975, 2.201),
            (19, 0.975, 2.093),
            (30, 0.95, 1.697),
            (60, 0.975, 2.000),
            (100, 0.975, 1.984),
            (100, 0.999, 3.174),
        ];
        for (degrees, probability, expected) in TABLE {
            let t = student_t_quantile(probability, degrees).unwrap();
            assert!(
                (t - expected).abs() < 0.0006,
                "{degrees} {probability}: {t}"
            );
            let mirrored = student_t_quantile(1.0 - probability, degrees).unwrap();
            assert!((t + mirrored).abs() < 1e-6, "{degrees}: {t} {mirrored}");
        }
    }

    #[test]
    fn two_values_have_a_tail_that_is_all_but_nothing() {
        // t is 12.706, times sqrt(2) is 17.97: a tail of 10⁻⁷².
        let tail = expanded_tail(2, 0.95).unwrap();
        assert!(0.0 < tail && tail < 1e-71, "{tail}");
    }

    #[test]
    fn the_normal_distribution_agrees_with_its_table() {
        for (x, expected) in [(-1.959_964, 0.025), (-2.575_829, 0.005), (0.0, 0.5)] {
            assert!((Normal::standard().cdf(x) - expected).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn expanded_tails_are_those_of_the_formula_worked_by_hand() {
        // n = 5: t is 2.776, times sqrt(5/4) is 3.104, and Φ(−3.104) is 0.000955.
        fn check(count: usize, expected: f64) {
            let tail = expanded_tail(count, 0.95).unwrap();
            assert!((tail - expected).abs() < 0.000_02, "{count}: {tail}");
        }
        check(5, 0.000_955);
        check(8, 0.005_73);
        check(12, 0.010_76);
        check(20, 0.015_9);
        check(100_000, 0.025);
    }

    #[test]
    fn what_cannot_be_answered_is_none() {
        assert_eq!(student_t_quantile(0.5, 0), None);
        assert_eq!(student_t_quantile(0.0, 3), None);
        assert_eq!(student_t_quantile(f64::NAN, 3), None);
        assert_eq!(expanded_tail(0, 0.95), None);
        assert_eq!(expanded_tail(1, 0.95), None);
        assert_eq!(expanded_tail(5, 1.0), None);
        assert_eq!(expanded_tail(5, f64::NAN), None);
    }

    proptest! {
        #[test]
        fn tails_are_narrower_than_the_plain_percentile(
            count in 2usize..2_000,
            confidence in 0.5..0.999f64,
        ) {
            let tail = expanded_tail(count, confidence).unwrap();
            prop_assert!(tail >= 0.0);
            prop_assert!(tail < (1.0 - confidence) / 2.0);
        }
    }
}
