//! When something that dwindles is used up, if it goes on as it did.
//!
//! The model is a random walk with drift: what happens in one stretch says nothing of the next,
//! and the drift is what they have in common. Free memory is such a walk rather than a line with
//! noise: what a burst took stays taken for a while, so a slope through the points, whose residuals
//! lie on one side for minutes, finds a trend in every wandering.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Points are averaged into so many groups; fewer points say nothing. Short noise vanishes in the
/// means, and with so few, one burst in a single group or one pause leaves the drift unsure.
const GROUPS: usize = 8;

/// Differences of averages of a random walk vary less than those of its points: by 2/3, while their
/// sum is that of the walk (Working 1960, "Note on the Correlation of First Differences of
/// Averages in a Random Chain", Econometrica 28).
const AVERAGED: f64 = 1.5;

/// A trend is taken to last for so many times the time in which it was seen.
const AHEAD_MAX: f64 = 12.0;

/// When something is used up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Depletion {
    /// How much goes per unit of time; positive.
    pub rate: f64,
    /// The time from the last point until nothing is left, at that rate.
    pub expected: f64,
    /// The lower end of the interval of that time.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How sure the interval is: that of all intervals of numalab.
const CONFIDENCE: f64 = 0.95;

/// When the quantity in points (time, amount), of ascending times, is used up; `None` where the
/// interval of its drift includes 0, where that is further away than twelve times the time of the
/// points, with fewer than eight points, and where one is not finite.
///
/// `lowest_before` is the least there was before the points: an amount that has been lower, and
/// came back, goes up and down, so there is no answer. Of `compared` quantities, one is chosen
/// because it is used up first; the intervals of all hold their times with 95 % together
/// (Bonferroni).
pub fn depletion(
    points: &[(f64, f64)],
    lowest_before: Option<f64>,
    compared: usize,
) -> Option<Depletion> {
    let is_finite = |(time, amount): &(f64, f64)| time.is_finite() && amount.is_finite();
    let (first, last) = (points.first()?, points.last()?);
    if points.len() < GROUPS || !points.iter().all(is_finite) {
        return None;
    }
    if lowest_before.is_some_and(|lowest| last.1 >= lowest) {
        return None;
    }
    let means = means(points);
    let steps: Vec<(f64, f64)> = means
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1))
        .collect();
    if steps.iter().any(|(time, _)| *time <= 0.0) {
        return None;
    }
    let time: f64 = steps.iter().map(|(time, _)| time).sum();
    let drift = steps.iter().map(|(_, change)| change).sum::<f64>() / time;
    let freedom = (steps.len() - 1) as f64;
    let squares = steps
        .iter()
        .map(|(time, change)| (change - drift * time).powi(2) / time);
    let variance = AVERAGED * squares.sum::<f64>() / freedom;
    let wrong = (1.0 - CONFIDENCE) / compared.max(1) as f64;
    let reach = StudentsT::new(0.0, 1.0, freedom)
        .ok()?
        .inverse_cdf(1.0 - wrong / 2.0);
    let depletion = solved(last.1, -drift, reach * reach * variance, time)?;
    (depletion.expected <= AHEAD_MAX * (last.0 - first.0)).then_some(depletion)
}

/// The times `t` for which `left` − `rate` t is within what the walk and the error of its drift may
/// add up to: (left − rate t)² = spread (t + t² / time).
fn solved(left: f64, rate: f64, spread: f64, time: f64) -> Option<Depletion> {
    let squared = rate * rate - spread / time;
    if left <= 0.0 || rate <= 0.0 || squared <= 0.0 {
        return None;
    }
    let half = left * rate + spread / 2.0;
    let root = (half * half - squared * left * left).max(0.0).sqrt();
    let high = (half + root) / squared;
    // The product of both is left² / squared; this form does not cancel.
    let low = left * left / (half + root);
    let expected = left / rate;
    (low.is_finite() && high.is_finite()).then_some(Depletion {
        rate,
        expected,
        low: low.min(expected),
        high: high.max(expected),
    })
}

/// The means of groups of neighbours, of nearly equal numbers.
fn means(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let bound = |group: usize| group * points.len() / GROUPS;
    let mean = |group: usize| {
        let group = &points[bound(group)..bound(group + 1)];
        let count = group.len() as f64;
        let sum = |of: fn(&(f64, f64)) -> f64| group.iter().map(of).sum::<f64>() / count;
        (sum(|it| it.0), sum(|it| it.1))
    };
    (0..GROUPS).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(rate: f64, count: u32) -> Vec<(f64, f64)> {
        let at = |second: u32| (f64::from(second), 100.0 - rate * f64::from(second));
        (0..count).map(at).collect()
    }

    #[test]
    fn a_steady_loss_is_used_up_when_it_says() {
        let found = depletion(&line(1.0, 61), None, 24).unwrap();
        assert!((found.expected - 40.0).abs() < 1e-9 && (found.rate - 1.0).abs() < 1e-9);
        assert!((found.high - found.low).abs() < 1e-3, "{found:?}");
        // Twelve times 60 s, and a second more.
        assert!(depletion(&line(100.0 / 780.0, 61), None, 1).is_some());
        assert_eq!(depletion(&line(100.0 / 782.0, 61), None, 1), None);
    }

    #[test]
    fn what_has_been_lower_comes_back() {
        assert!(depletion(&line(1.0, 61), Some(41.0), 1).is_some());
        assert_eq!(depletion(&line(1.0, 61), Some(40.0), 1), None);
    }

    #[test]
    fn one_step_or_no_loss_is_no_drift() {
        let step = |second: u32| (f64::from(second), if second < 30 { 100.0 } else { 10.0 });
        assert_eq!(
            depletion(&(0..60).map(step).collect::<Vec<_>>(), None, 1),
            None
        );
        for points in [line(0.0, 60), line(-1.0, 60), line(1.0, 7), line(1.0, 101)] {
            assert_eq!(depletion(&points, None, 1), None);
        }
        assert_eq!(depletion(&[(0.0, f64::NAN); 20], None, 1), None);
        assert_eq!(depletion(&[(1.0, 2.0); 20], None, 1), None);
        assert_eq!(depletion(&[], None, 0), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_what_is_expected(
            amounts in prop::collection::vec(0.0..1e12_f64, 8..90),
            falls in 0.0..1e12_f64,
            compared in 0..30_usize,
        ) {
            let points = amounts.iter().enumerate();
            let points = points.map(|(at, it)| (at as f64, it + falls * (90 - at) as f64));
            if let Some(found) = depletion(&points.collect::<Vec<_>>(), None, compared) {
                prop_assert!(0.0 < found.low && found.low <= found.expected);
                prop_assert!(found.expected <= found.high && found.high.is_finite());
                prop_assert!(found.rate > 0.0);
            }
        }
    }
}
