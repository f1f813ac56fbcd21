//! A ratio as the product of its factors.

/// The shares of a ratio's factors in its logarithm. They add up to 1. A negative share belongs to
/// a factor that works against the others; another is then above 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Share of the first factor.
    pub first: f64,
    /// Share of the second factor.
    pub second: f64,
    /// Share of the remainder: the ratio over the product of both factors.
    pub rest: f64,
}

/// Splits `ratio` = `first` × `second` × rest by logarithms: ln ratio = ln first + ln second + ln
/// rest, each over ln ratio.
///
/// Logarithms, because no other split of a product is independent both of the order of the factors
/// and of which side of the ratio is the baseline.
///
/// `None` where the ratio is 1 (there is nothing to split), and where one of the three is not
/// positive and finite.
pub fn split(ratio: f64, first: f64, second: f64) -> Option<Split> {
    let fit = [ratio, first, second]
        .iter()
        .all(|value| *value > 0.0 && value.is_finite());
    let whole = ratio.ln();
    if !fit || whole == 0.0 {
        return None;
    }
    let (first, second) = (first.ln() / whole, second.ln() / whole);
    let rest = 1.0 - first - second;
    let split = Split {
        first,
        second,
        rest,
    };
    rest.is_finite().then_some(split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_difference_of_article_001_is_mostly_cpus() {
        // Test 4 against test 3: logical reads per second, and seconds of DB CPU in 5 minutes.
        let ratio: f64 = 5_182_622.4 / 5_786_023.5;
        let cpus = 1627.8 / 1775.1;
        let split = split(ratio, cpus, ratio / cpus).unwrap();
        assert!((1.0 - ratio - 0.1043).abs() < 5e-5);
        assert!((split.first - 0.7864).abs() < 5e-4, "{split:?}");
        assert!((split.second - 0.2136).abs() < 5e-4, "{split:?}");
        assert!(split.rest.abs() < 1e-12);
    }

    #[test]
    fn a_factor_may_work_against_the_others() {
        let split = split(2.0, 4.0, 0.5).unwrap();
        assert_eq!((split.first, split.second, split.rest), (2.0, -1.0, 0.0));
    }

    #[test]
    fn what_the_factors_leave_is_the_rest() {
        let split = split(8.0, 2.0, 2.0).unwrap();
        assert!((split.rest - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_split_where_there_is_nothing() {
        assert_eq!(split(1.0, 2.0, 0.5), None);
        for unfit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(split(unfit, 2.0, 2.0), None);
            assert_eq!(split(2.0, unfit, 2.0), None);
            assert_eq!(split(2.0, 2.0, unfit), None);
        }
    }

    proptest! {
        #[test]
        fn shares_add_up_and_do_not_depend_on_the_side(
            first in 1e-6..1e6f64,
            second in 1e-6..1e6f64,
            rest in 0.5..2.0f64,
        ) {
            let ratio = first * second * rest;
            prop_assume!(ratio.ln().abs() > 1e-3);
            let here = split(ratio, first, second).unwrap();
            let there = split(1.0 / ratio, 1.0 / first, 1.0 / second).unwrap();
            prop_assert!((here.first + here.second + here.rest - 1.0).abs() < 1e-9);
            prop_assert!((here.first - there.first).abs() < 1e-6);
            prop_assert!((here.second - there.second).abs() < 1e-6);
        }
    }
}
