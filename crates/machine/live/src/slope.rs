//! A robust slope and its interval: Theil (1950) and Sen, "Estimates of the regression coefficient
//! based on Kendall's tau", JASA 63 (1968). Up to 29 % of the points may be anything.

/// The slope of a line through points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slope {
    /// The median of the slopes of all pairs.
    pub median: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Fewer points have no interval of 95 %.
const POINTS_MIN: usize = 8;

/// Of more points, means of neighbours are taken: the pairs grow by the square.
const POINTS_MAX: usize = 60;

/// 97.5 % of a normal distribution.
const NORMAL: f64 = 1.96;

/// The slope through points of ascending, different times; `None` with fewer than eight, or where
/// one is not finite.
pub(crate) fn slope(points: &[(f64, f64)]) -> Option<Slope> {
    if points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let points = thinned(points);
    if points.len() < POINTS_MIN {
        return None;
    }
    let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    for (at, (x, y)) in points.iter().enumerate() {
        let later = points[at + 1..].iter().filter(|(later, _)| later > x);
        slopes.extend(later.map(|(later, value)| (value - y) / (later - x)));
    }
    if slopes.is_empty() || slopes.iter().any(|slope| !slope.is_finite()) {
        return None;
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let median = middle(&slopes);
    let count = points.len() as f64;
    // The variance of Kendall's S, larger for neighbours that resemble each other (Hamed and Rao,
    // J. Hydrology 204 (1998), for one lag).
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
    let resemblance = resemblance(&points, median);
    let variance = variance * (1.0 + resemblance) / (1.0 - resemblance);
    let pairs = slopes.len() as f64;
    let reach = NORMAL * variance.sqrt();
    let last = slopes.len() - 1;
    let rank = |rank: f64| slopes[(rank.max(0.0) as usize).min(last)];
    Some(Slope {
        median,
        low: rank(((pairs - reach) / 2.0).floor() - 1.0),
        high: rank(((pairs + reach) / 2.0).ceil()),
    })
}

fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let size = points.len().div_ceil(POINTS_MAX).max(1);
    let mean = |group: &[(f64, f64)]| {
        let count = group.len() as f64;
        let sum = group
            .iter()
            .fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        (sum.0 / count, sum.1 / count)
    };
    points.chunks(size).map(mean).collect()
}

fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => f64::midpoint(sorted[half - 1], sorted[half]),
        _ => sorted[half],
    }
}

/// The correlation of neighbouring residuals, from 0 to 0.95.
fn resemblance(points: &[(f64, f64)], slope: f64) -> f64 {
    let residuals: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    let mean = residuals.iter().sum::<f64>() / residuals.len() as f64;
    let of = |at: usize| residuals[at] - mean;
    let all: f64 = (0..residuals.len()).map(|at| of(at) * of(at)).sum();
    let neighbours: f64 = (1..residuals.len()).map(|at| of(at) * of(at - 1)).sum();
    let correlation = neighbours / all;
    // A line without residuals has 0 / 0.
    if correlation.is_finite() {
        correlation.clamp(0.0, 0.95)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(slope: f64, count: u32) -> Vec<(f64, f64)> {
        let at = |x: u32| (f64::from(x), 100.0 + slope * f64::from(x));
        (0..count).map(at).collect()
    }

    #[test]
    fn a_quarter_of_wild_points_does_not_change_the_direction() {
        let mut points = line(-2.0, 40);
        for at in (0..40).step_by(4) {
            points[at].1 = 1e6;
        }
        let found = slope(&points).unwrap();
        assert!(found.high < 0.0 && found.low <= -2.0, "{found:?}");
    }

    #[test]
    fn points_that_go_nowhere_have_an_interval_with_0() {
        let points: Vec<(f64, f64)> = (0..60_u32)
            .map(|x| (f64::from(x), f64::from(x * 7919 % 101)))
            .collect();
        let found = slope(&points).unwrap();
        assert!(found.low <= 0.0 && found.high >= 0.0, "{found:?}");
        assert_eq!(slope(&line(1.0, 7)), None);
        assert_eq!(slope(&[(0.0, f64::NAN); 20]), None);
        assert_eq!(slope(&[(1.0, 2.0); 20]), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_slope(points in prop::collection::vec(-1e12..1e12_f64, 8..90)) {
            let points: Vec<(f64, f64)> =
                points.into_iter().enumerate().map(|(x, y)| (x as f64, y)).collect();
            let found = slope(&points).unwrap();
            prop_assert!(found.low <= found.median && found.median <= found.high);
        }

        #[test]
        fn a_line_has_its_slope(of in -1e6..1e6_f64, count in 8..200_u32) {
            let found = slope(&line(of, count)).unwrap();
            prop_assert!((found.median - of).abs() <= 1e-6 * of.abs().max(1.0));
        }
    }
}
