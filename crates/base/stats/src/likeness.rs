//! Which members of a group are not like the others: robust centre and spread of each figure, and
//! limits that groups of equal members rarely exceed.
//!
//! Member `i` has figures `j` with x = centre_j + (what member i is) + (error of its trials), on a
//! logarithmic scale. Centre and spread are the median and the scaled median absolute deviation
//! (Hampel 1974, "The Influence Curve and its Role in Robust Estimation", JASA 69), so that nearly
//! half of the members may be odd without hiding themselves. A member is odd in a figure if it is
//! further from the centre than a limit, in spreads. The limits keep the chance that any figure of
//! any member exceeds one at 5 % for a group of equal members, figures depending on each other as
//! they like (Bonferroni), and members spread by a distribution with tails up to those of Student's
//! t with 4 degrees of freedom. docs/fleet.md has the simulation.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::interval::is_probability;
use crate::quantile::{median, quantile};

/// How often a group of equal members has an odd one, at most.
const FALSE_SHARE: f64 = 0.05;
/// Scales the median absolute deviation to the standard deviation of a normal distribution.
const NORMAL_CONSISTENT: f64 = 1.482_602_2;
/// The third quartile of the normal distribution.
const NORMAL_QUARTILE: f64 = 0.674_489_8;
/// The least spread, as a share: machines are not told apart that differ by a few of these.
pub const SPREAD_LEAST: f64 = 0.005;
/// The fewest members of which one can be odd.
pub const MEMBERS_MIN: usize = 3;
/// Degrees of freedom of the heaviest tails that the limits allow for, and of the lightest that is
/// told apart from a normal distribution.
const FREEDOM: (f64, f64) = (4.0, 100.0);
/// From this many members on, the group itself says how heavy its tails are.
const TAILS_FROM: usize = 100;
/// Standard deviation of the logarithm of the ratio of two quantiles by which tails are judged,
/// times the root of the number of members; simulated for normal to Student (4): 1.2 to 1.4.
const TAIL_ERROR: f64 = 1.4;
/// Errors of trials are normal, and hide heavy tails of members in the ratio, though not from the
/// limits: by simulation, they take as much from it.
const TAIL_HIDDEN: f64 = 1.05;
/// So many of these errors are added: by simulation, fewer took limits too near, more find less.
const TAIL_ERRORS: f64 = 1.0;

/// Limits in spreads of groups of 3, 4, … members with one figure, by simulation: the largest that
/// 5 % of groups exceed of normal, Laplace and Student (4) members. In few members, the median
/// absolute deviation is small by chance, which no quantile of Student's t knows.
const FEW: [f64; 17] = [
    24.5, 9.0, 11.0, 9.4, 9.7, 9.4, 9.9, 8.4, 8.8, 7.9, 8.2, 7.7, 7.9, 7.7, 7.8, 7.7, 7.8,
];

/// One figure of one member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Its logarithm.
    pub ln: f64,
    /// The standard error of that, from the member's own trials; 0 if unknown.
    pub error: f64,
}

/// How much the members of a group are alike in one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    /// Members that have the figure.
    pub members: usize,
    /// The median of its logarithm.
    pub centre: f64,
    /// One standard deviation from member to member and from trial to trial; robust.
    pub spread: f64,
    /// The usual square of the error of a member.
    usual_error: f64,
    /// The limit, in spreads; `None` for fewer than [`MEMBERS_MIN`] members.
    pub limit: Option<f64>,
}

impl Likeness {
    /// How far a member is from the centre, in spreads. A member whose own trials vary more than
    /// is usual gets more room.
    pub fn score(&self, reading: Reading) -> f64 {
        let more = (reading.error * reading.error - self.usual_error).max(0.0);
        (reading.ln - self.centre) / (self.spread * self.spread + more).sqrt()
    }

    /// Whether a member is odd.
    pub fn is_odd(&self, reading: Reading) -> bool {
        self.limit
            .is_some_and(|limit| self.score(reading).abs() > limit)
    }
}

/// Judges figures of one kind, each with a reading of every member that has it. `figures_of_group`
/// is the number of all figures of the group, of any kind: the more there are, the further are the
/// limits. A figure without readings has no likeness.
pub fn likeness(
    figures: &[Vec<Option<Reading>>],
    figures_of_group: usize,
) -> Vec<Option<Likeness>> {
    let mut found: Vec<Option<Likeness>> = figures.iter().map(|it| alone(it)).collect();
    let spreads: Vec<f64> = found.iter().flatten().map(|it| it.spread).collect();
    // What figures of one kind have in common steadies a spread that is small by chance.
    let common = median(&spreads).unwrap_or(0.0).max(SPREAD_LEAST);
    for it in found.iter_mut().flatten() {
        it.spread = it.spread.max(common);
    }
    let freedom = freedom(figures, &found);
    let share = FALSE_SHARE / figures_of_group.max(figures.len()).max(1) as f64;
    let mut last: Option<(usize, Option<f64>)> = None;
    for it in found.iter_mut().flatten() {
        let limit = match last {
            Some((members, limit)) if members == it.members => limit,
            _ => limit(it.members, freedom, share),
        };
        last = Some((it.members, limit));
        it.limit = limit;
    }
    found
}

/// The centre and the spread of one figure.
fn alone(readings: &[Option<Reading>]) -> Option<Likeness> {
    let known = || readings.iter().flatten();
    let logarithms: Vec<f64> = known().map(|it| it.ln).collect();
    let errors: Vec<f64> = known().map(|it| it.error * it.error).collect();
    let centre = median(&logarithms)?;
    let away: Vec<f64> = logarithms.iter().map(|it| (it - centre).abs()).collect();
    Some(Likeness {
        members: logarithms.len(),
        centre,
        spread: NORMAL_CONSISTENT * median(&away)?,
        usual_error: median(&errors)?,
        limit: None,
    })
}

/// How heavy the tails of a group are: the degrees of freedom of the Student's t with the same
/// ratio of two quantiles of all distances, one standard error heavier.
fn freedom(figures: &[Vec<Option<Reading>>], found: &[Option<Likeness>]) -> f64 {
    let members = found.iter().flatten().map(|it| it.members).max();
    let members = members.unwrap_or(0);
    if members < TAILS_FROM {
        return FREEDOM.0;
    }
    let mut away = Vec::new();
    for (readings, likeness) in figures.iter().zip(found) {
        let Some(likeness) = likeness else { continue };
        let scores = readings
            .iter()
            .flatten()
            .map(|it| likeness.score(*it).abs());
        away.extend(scores);
    }
    let ratio = (quantile(&away, 0.95), quantile(&away, 0.5));
    let (Some(far), Some(near)) = ratio else {
        return FREEDOM.0;
    };
    if near <= 0.0 {
        return FREEDOM.0;
    }
    // Figures of one member depend on each other, so that only members count.
    let error = TAIL_ERRORS * TAIL_ERROR / (members as f64).sqrt();
    freedom_of_ratio(far / near * TAIL_HIDDEN * error.exp())
}

/// Inverts the ratio of the quantiles 0.95 and 0.5 of the distance of Student's t, which falls.
fn freedom_of_ratio(ratio: f64) -> f64 {
    let (mut low, mut high) = FREEDOM;
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let quantile = |share: f64| student(middle, (1.0 - share) / 2.0);
        match quantile(0.95) / quantile(0.5) > ratio {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// The distance from 0 that a standard normal value exceeds with this probability; `None` for what
/// is no probability.
pub fn normal_limit(share: f64) -> Option<f64> {
    let is_share = is_probability(share);
    is_share.then(|| -Normal::standard().inverse_cdf(share / 2.0))
}

/// The value that Student's t exceeds with this probability.
fn student(freedom: f64, share: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) => -student.inverse_cdf(share),
        Err(_) => f64::INFINITY,
    }
}

/// The distance, in spreads, that a share of groups of equal members exceeds.
fn limit(members: usize, freedom: f64, share: f64) -> Option<f64> {
    let spread = student(freedom, 0.25) / NORMAL_QUARTILE;
    let far = student(freedom, share / (2.0 * members as f64)) / spread;
    match members.checked_sub(MEMBERS_MIN)? {
        few if few < FEW.len() => {
            // A group exceeds r spreads where half of its members are within 1/r of one another:
            // with probability r^-d, d of them beside the middle one or two.
            let together = (members / 2).min(FREEDOM.0 as usize) as f64;
            let rarer = (FALSE_SHARE / share).powf(1.0 / together);
            Some(far.max(FEW[few] * rarer))
        }
        // The error of centre and spread themselves, by simulation.
        _ => Some(far * (1.0 + 3.5 / members as f64)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn group(values: &[f64]) -> Vec<Option<Reading>> {
        let reading = |value: &f64| {
            Some(Reading {
                ln: value.ln(),
                error: 0.0,
            })
        };
        values.iter().map(reading).collect()
    }

    fn odd(values: &[f64]) -> Vec<usize> {
        let figures = [group(values)];
        let likeness = likeness(&figures, 1)[0].unwrap();
        let members = figures[0].iter().enumerate();
        let odd = members.filter(|(_, it)| likeness.is_odd(it.unwrap()));
        odd.map(|(index, _)| index).collect()
    }

    #[test]
    fn a_member_far_from_the_others_is_odd_and_of_two_none_is() {
        assert_eq!(odd(&[100.0, 101.0, 99.0, 100.5, 130.0]), [4]);
        assert_eq!(odd(&[100.0, 101.0, 99.0, 100.5, 103.0]), [0; 0]);
        assert_eq!(odd(&[100.0, 101.0, 99.0, 100.5, 80.0]), [4]);
        assert_eq!(odd(&[100.0, 200.0]), [0; 0]);
        assert_eq!(odd(&[100.0, 100.1, 120.0]), [2]);
        assert_eq!(odd(&[100.0, 110.0, 120.0]), [0; 0]);
    }

    #[test]
    fn members_that_vary_more_get_more_room_and_more_figures_move_limits() {
        let values: Vec<f64> = (0..40).map(|it| 100.0 + f64::from(it % 5)).collect();
        let figures = [group(&values)];
        let one = likeness(&figures, 1)[0].unwrap();
        let many = likeness(&figures, 64)[0].unwrap();
        assert!(many.limit > one.limit);
        let far = |error| Reading {
            ln: 150f64.ln(),
            error,
        };
        assert!(one.score(far(0.0)) > 2.0 * one.score(far(0.1)));
    }

    #[test]
    fn tails_are_told_from_their_quantiles() {
        assert!((freedom_of_ratio(3.75) - 4.0).abs() < 0.1);
        assert_eq!(freedom_of_ratio(9.0), 4.0);
        assert!(freedom_of_ratio(2.95) > 30.0);
        assert!((student(4.0, 0.025) - 2.776).abs() < 1e-3);
        assert!(
            (student(25.0, 1e-6) - 6.145).abs() < 0.02,
            "{}",
            student(25.0, 1e-6)
        );
    }

    proptest! {
        #[test]
        fn no_readings_panic(
            values in prop::collection::vec(prop::option::of(any::<f64>()), 0..40),
            error: f64,
            figures in 0_usize..5,
        ) {
            let readings: Vec<_> = values.iter()
                .map(|it| it.map(|ln| Reading { ln, error }))
                .collect();
            for it in likeness(&[readings.clone(), readings], figures).into_iter().flatten() {
                prop_assert!(it.spread >= SPREAD_LEAST);
            }
        }
    }
}
