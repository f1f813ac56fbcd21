//! Two records that were not randomised, compared by means of batches, which know that noise
//! depends on its past; or by whole records, where there are several.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Interval;
use crate::interval::is_probability;

/// Batches of a record for its variance: little is lost from 8 to 10 on (Schmeiser 1980, "Batch
/// Size Effects in the Analysis of Simulation Output", DTIC ADA087045).
const BATCHES: usize = 10;
/// Batches for the lag.
const FINE_BATCHES: usize = 20;
/// From this lag-1 correlation of batch means on, averaged over the records, noise is too slow for
/// an interval. In simulations of ten minutes it refuses nearly all noise whose correlation falls
/// to 1/e in 100 s, of which 10 batch means alone take a third for a difference
/// (tests/all/records.rs).
const LAG_MAX: f64 = 0.2;

/// What a window did: units of work, and what they took, be it CPU time or time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Portion {
    /// Units of work.
    pub work: f64,
    /// What they took.
    pub took: f64,
}

/// What a record says of the cost of a unit of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordMean {
    /// ln of what a unit took, over the whole record.
    pub ln: f64,
    /// The variance of that, by batch means.
    pub variance: f64,
    /// The correlation of neighbouring batch means.
    pub lag: f64,
}

/// How a record differs from another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Difference {
    /// ln of the ratio of what a unit took, second by first, is within this interval.
    Within(Interval),
    /// Neighbouring batches are so alike that no interval would hold; the averaged correlation.
    TooSlow(f64),
}

impl RecordMean {
    /// Of these windows in their order; `None` for fewer than 20, and where all of them did
    /// nothing or took nothing.
    pub fn of(portions: &[Portion]) -> Option<Self> {
        let is_fit =
            |it: &Portion| it.work >= 0.0 && it.took >= 0.0 && (it.work + it.took).is_finite();
        let work: f64 = portions.iter().map(|it| it.work).sum();
        let took: f64 = portions.iter().map(|it| it.took).sum();
        if portions.len() < FINE_BATCHES || !portions.iter().all(is_fit) || work * took <= 0.0 {
            return None;
        }
        let ratio = took / work;
        // Ratio of sums, delta method: Deng, Knoblich and Lu 2018, "Applying the Delta Method in
        // Metric Analytics", KDD.
        let residuals = |count: usize| -> Vec<f64> {
            let batch = |number: usize| {
                let [from, to] = [number, number + 1].map(|it| it * portions.len() / count);
                portions[from..to]
                    .iter()
                    .map(|it| it.took - ratio * it.work)
                    .sum()
            };
            (0..count).map(batch).collect()
        };
        let squares = |of: &[f64]| of.iter().map(|it| it * it).sum::<f64>();
        let batches = BATCHES as f64;
        let spread = squares(&residuals(BATCHES)) / (batches - 1.0);
        let fine = residuals(FINE_BATCHES);
        let products: f64 = fine.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let all = squares(&fine);
        Some(RecordMean {
            ln: ratio.ln(),
            variance: spread / batches / (took / batches).powi(2),
            // What is left of equal windows is rounding.
            lag: if all > (took * f64::EPSILON).powi(2) * portions.len() as f64 {
                products / all
            } else {
                0.0
            },
        })
    }
}

/// How the second side differs from the first, with an interval of this confidence. One record of
/// each side: by their batches, with the degrees of freedom of one (t with 9). Several: each record
/// is one value, whatever noise is slower than it, and t has the degrees of freedom of the smaller
/// side (Ibragimov and Müller 2016, "Inference with Few Heterogeneous Clusters", REStat 98); of a
/// single record against several, whether it is one more of them.
///
/// `None` for a side without a record, and a confidence outside 0..1 (both ends excluded).
pub fn difference(
    first: &[RecordMean],
    second: &[RecordMean],
    confidence: f64,
) -> Option<Difference> {
    if first.is_empty() || second.is_empty() || !is_probability(confidence) {
        return None;
    }
    let mean = |of: &[RecordMean]| of.iter().map(|it| it.ln).sum::<f64>() / of.len() as f64;
    let variance = |of: &[RecordMean]| {
        let mean = mean(of);
        let squares = of.iter().map(|it| (it.ln - mean).powi(2)).sum::<f64>();
        squares / (of.len() as f64 - 1.0)
    };
    let (variance, freedom) = match (first, second) {
        ([one], [other]) => {
            let lag = f64::midpoint(one.lag, other.lag);
            if lag >= LAG_MAX {
                return Some(Difference::TooSlow(lag));
            }
            (one.variance + other.variance, BATCHES - 1)
        }
        ([_], many) | (many, [_]) => (
            variance(many) * (1.0 + 1.0 / many.len() as f64),
            many.len() - 1,
        ),
        (one, other) => {
            let share = |of: &[RecordMean]| variance(of) / of.len() as f64;
            (share(one) + share(other), one.len().min(other.len()) - 1)
        }
    };
    let t = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    let half = t.inverse_cdf(0.5 + confidence / 2.0) * variance.sqrt();
    let middle = mean(second) - mean(first);
    Some(Difference::Within(Interval {
        low: middle - half,
        high: middle + half,
        confidence,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portions(took: impl Fn(usize) -> f64) -> Vec<Portion> {
        let portion = |number| Portion {
            work: 10.0,
            took: took(number),
        };
        (0..40).map(portion).collect()
    }

    #[test]
    fn a_record_is_a_ratio_of_sums_with_the_variance_of_its_batches() {
        // Batches of 4 windows take 4 or 8 in turn: ten of mean 6, of variance 40 / 9.
        let record = RecordMean::of(&portions(
            |number| if number / 4 % 2 == 0 { 1.0 } else { 2.0 },
        ));
        let record = record.unwrap();
        assert!((record.ln - 0.15f64.ln()).abs() < 1e-12, "{record:?}");
        let expected = 40.0 / 9.0 / 10.0 / 36.0;
        assert!((record.variance - expected).abs() < 1e-12, "{record:?}");
        // Of 20, pairs are alike: of 19 products, ten are 1 and nine are -1.
        assert!((record.lag - 0.05).abs() < 1e-12, "{record:?}");
    }

    #[test]
    fn what_says_nothing_has_no_mean() {
        assert_eq!(RecordMean::of(&portions(|_| 1.0)[..19]), None);
        assert_eq!(RecordMean::of(&portions(|_| 0.0)), None);
        assert_eq!(
            RecordMean::of(&portions(|number| number as f64 - 1.0)),
            None
        );
        assert!(RecordMean::of(&portions(|number| number as f64)).is_some());
        assert_eq!(RecordMean::of(&portions(|_| f64::NAN)), None);
        let still = RecordMean::of(&portions(|_| 1.0)).unwrap();
        assert_eq!((still.variance, still.lag), (0.0, 0.0));
        assert_eq!(difference(&[], &[still], 0.95), None);
        assert_eq!(difference(&[still], &[still], 1.0), None);
    }

    #[test]
    fn intervals_are_those_of_students_t() {
        let record = |ln: f64, lag: f64| RecordMean {
            ln,
            variance: 0.0002,
            lag,
        };
        let ends =
            |first: &[RecordMean], second: &[RecordMean]| match difference(first, second, 0.95)
                .unwrap()
            {
                Difference::Within(it) => (it.low, it.high),
                Difference::TooSlow(lag) => panic!("{lag}"),
            };
        let check = |(low, high): (f64, f64), middle: f64, half: f64| {
            assert!(
                (f64::midpoint(low, high) - middle).abs() < 1e-9,
                "{low} {high}"
            );
            assert!(((high - low) / 2.0 - half).abs() < 1e-6, "{low} {high}");
        };
        // Quantiles of tables: t9 2.262157, t2 4.302653, t1 12.706205.
        check(
            ends(&[record(0.0, 0.1)], &[record(0.1, 0.2)]),
            0.1,
            2.262_157 * 0.02,
        );
        let slow = difference(&[record(0.0, 0.2)], &[record(0.1, 0.2)], 0.95);
        assert_eq!(slow, Some(Difference::TooSlow(0.2)));
        // Several records: how slow noise is within one does not matter.
        let three = [-0.01, 0.0, 0.01].map(|ln| record(ln, 0.9));
        let sd = 0.01 * (4.0_f64 / 3.0).sqrt();
        check(ends(&three, &[record(0.1, 0.9)]), 0.1, 4.302_653 * sd);
        check(ends(&[record(0.1, 0.9)], &three), -0.1, 4.302_653 * sd);
        let two = [0.19, 0.21].map(|ln| record(ln, 0.9));
        let both = (1e-4_f64 / 3.0 + 2e-4 / 2.0).sqrt();
        check(ends(&three, &two), 0.2, 12.706_205 * both);
    }
}
