//! An interval for the effect behind pairs whose order a fair coin decided, valid at every look: it
//! bets on the coins and needs no model of the noise.
//!
//! A pair's difference is θ + s·e: s a fair coin, e anything at all (drift, bursts, dependence on
//! earlier pairs). Under the true θ, a bet e^z / cosh z with z of the sign of the coin has mean 1
//! (Vovk and Wang 2024, "Nonparametric e-tests of symmetry", The New England Journal of Statistics
//! in Data Science 2), whatever z's size, as long as that is known before the coin. A product of
//! such bets ever exceeds 1/α with probability at most α (Ville's inequality; Howard et al. 2021,
//! "Time-uniform, nonparametric, nonasymptotic confidence sequences", The Annals of Statistics 49).

use std::f64::consts::LN_2;

use crate::interval::{Interval, is_probability};
use crate::quantile::median;

/// Sizes of bets in units of the mean magnitude so far; half of the stake on each side.
const STAKES: [f64; 4] = [0.2, 0.5, 1.5, 4.0];
/// Mean magnitude of a normal deviate, as its standard deviation: √(π/2).
const SCALE: f64 = 1.2533;
/// Magnitudes beyond this many scales bet no more.
const CLIP: f64 = 2.0;
/// Steps outside of the data at which acceptance is looked for, each 1.6 times as far.
const TAIL_STEPS: i32 = 18;
/// Of more data, so many are looked at for acceptance, evenly among them.
const LOOKED_AT_MAX: usize = 200;
/// Pairs whose pairwise means enter the estimate exactly; of more, the latest are used.
const ESTIMATED_MAX: usize = 400;

/// What is known of the effect behind pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Betting {
    /// Too few pairs for an end on both sides.
    Open,
    /// The effects that are not refuted lie within.
    Within(Interval),
    /// Every constant effect is refuted.
    NoConstant,
}

/// The logarithm of what bets against the effect `theta` have made of a stake of 1, in the order
/// of the pairs.
pub fn ln_wealth(differences: &[f64], theta: f64) -> f64 {
    let mut up = [0.0; STAKES.len()];
    let mut down = [0.0; STAKES.len()];
    let mut sum = 0.0;
    for (index, difference) in differences.iter().enumerate() {
        let rest = difference - theta;
        let magnitude = rest.abs();
        sum += magnitude;
        if magnitude == 0.0 {
            continue;
        }
        let scale = SCALE * sum / (index + 1) as f64;
        let size = (magnitude / scale).min(CLIP);
        for (stake, (up, down)) in STAKES.iter().zip(up.iter_mut().zip(&mut down)) {
            let z = stake * size;
            // ln(e^z / cosh z) and ln(e^-z / cosh z).
            let win = LN_2 - (-2.0 * z).exp().ln_1p();
            let (gained, lost) = if rest > 0.0 { (up, down) } else { (down, up) };
            *gained += win;
            *lost += win - 2.0 * z;
        }
    }
    let all = up.iter().chain(&down);
    let most = all.clone().copied().fold(f64::NEG_INFINITY, f64::max);
    let wealth: f64 = all.map(|ln| (ln - most).exp()).sum();
    most + wealth.ln() - ((2 * STAKES.len()) as f64).ln()
}

/// The effect behind pairs: the Hodges–Lehmann estimate, the median of all pairwise means.
///
/// `None` without pairs, or when one is not finite.
pub fn effect(differences: &[f64]) -> Option<f64> {
    let latest = &differences[differences.len().saturating_sub(ESTIMATED_MAX)..];
    let means = latest.iter().enumerate().flat_map(|(index, one)| {
        let partners = latest[index..].iter();
        partners.map(move |other| one / 2.0 + other / 2.0)
    });
    median(&means.collect::<Vec<f64>>())
}

/// The interval of the effect behind pairs, in their order, which may be looked at after each: with
/// probability `confidence` it never misses a constant effect.
///
/// It reaches from the smallest to the largest effect that the bets do not refute, looked for from
/// outside: what they refute is not always in one piece.
///
/// `None` when a difference is not finite, and for a confidence outside 0..1.
pub fn betting_interval(differences: &[f64], confidence: f64) -> Option<Betting> {
    if !is_probability(confidence) || differences.iter().any(|it| !it.is_finite()) {
        return None;
    }
    let Some(estimate) = effect(differences) else {
        return Some(Betting::Open);
    };
    let threshold = -(1.0 - confidence).ln();
    let accepts = |theta: f64| ln_wealth(differences, theta) < threshold;
    let looked_at = candidates(differences, estimate);
    let Some(first) = looked_at.iter().position(|theta| accepts(*theta)) else {
        return Some(Betting::NoConstant);
    };
    let last = looked_at.iter().rposition(|theta| accepts(*theta));
    let last = last.unwrap_or(first);
    if first == 0 || last + 1 == looked_at.len() {
        return Some(Betting::Open);
    }
    Some(Betting::Within(Interval {
        low: border(looked_at[first], looked_at[first - 1], accepts),
        high: border(looked_at[last], looked_at[last + 1], accepts),
        confidence,
    }))
}

/// Effects at which acceptance is looked for, ascending: the data, the quarters between them, the
/// estimate, and steps outside.
fn candidates(differences: &[f64], estimate: f64) -> Vec<f64> {
    let mut sorted = differences.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
    let span = match most - least {
        0.0 => most.abs().max(f64::MIN_POSITIVE),
        span => span,
    };
    let every = sorted.len().div_ceil(LOOKED_AT_MAX);
    let mut data: Vec<f64> = sorted.iter().step_by(every).copied().collect();
    data.push(most);
    let quarters = data.windows(2).flat_map(|pair| {
        let step = (pair[1] - pair[0]) / 4.0;
        [1.0, 2.0, 3.0].map(|quarter| pair[0] + quarter * step)
    });
    let steps = (0..TAIL_STEPS).map(|step| 0.02 * span * 1.6_f64.powi(step));
    let tails = steps.flat_map(|step| [least - step, most + step]);
    let mut all: Vec<f64> = quarters.chain(tails).chain([estimate]).collect();
    all.extend(&data);
    all.retain(|theta| theta.is_finite());
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

/// The outermost accepted effect between one that is accepted and one that is not.
fn border(accepted: f64, refuted: f64, accepts: impl Fn(f64) -> bool) -> f64 {
    let (mut inside, mut outside) = (accepted, refuted);
    for _ in 0..60 {
        let middle = inside / 2.0 + outside / 2.0;
        match accepts(middle) {
            true => inside = middle,
            false => outside = middle,
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Betting, betting_interval, effect, ln_wealth};

    const TEN: [f64; 10] = [0.05, 0.02, -0.01, 0.04, 0.03, 0.06, 0.01, 0.02, 0.09, 0.03];

    fn ends(differences: &[f64]) -> Option<(f64, f64)> {
        match betting_interval(differences, 0.95) {
            Some(Betting::Within(interval)) => Some((interval.low, interval.high)),
            _ => None,
        }
    }

    /// Values of an independent implementation, in C, which ends its search for an end of the
    /// interval within 0.00003 outside of it.
    #[test]
    fn known_sessions_have_their_known_wealth_and_interval() {
        assert!((ln_wealth(&[1.0; 7], 0.0) - 3.260_759).abs() < 1e-6);
        assert!((ln_wealth(&TEN, 0.0) - 3.140_214).abs() < 1e-6);
        let (low, high) = ends(&TEN).unwrap();
        assert!((low - 0.000_86).abs() < 3e-5, "{low}");
        assert!((high - 0.071_51).abs() < 3e-5, "{high}");
    }

    /// The wealth under no effect is 1 on average over all coins.
    #[test]
    fn every_pattern_of_coins_together_makes_one() {
        let wealth = |signs: u32| {
            let signed = TEN.iter().enumerate().map(|(index, value)| {
                let is_up = signs >> index & 1 == 1;
                if is_up { *value } else { -*value }
            });
            ln_wealth(&signed.collect::<Vec<_>>(), 0.0).exp()
        };
        let mean = (0..1 << TEN.len()).map(wealth).sum::<f64>() / 1024.0;
        assert!((mean - 1.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn below_seven_pairs_there_is_no_interval() {
        for count in 0..7 {
            assert_eq!(
                betting_interval(&TEN[..count], 0.95),
                Some(Betting::Open),
                "{count}"
            );
        }
        assert!(ends(&[0.1, 0.11, 0.09, 0.1, 0.12, 0.08, 0.1]).is_some());
    }

    #[test]
    fn two_effects_far_apart_are_no_constant_effect() {
        let first = [1.0; 12].into_iter();
        let drifting: Vec<f64> = first.chain([9.0; 12]).collect();
        let found = betting_interval(&drifting, 0.95).unwrap();
        // The bets have lost against every value between, or hold only one of the two.
        assert_ne!(found, Betting::Open);
    }

    #[test]
    fn what_is_not_a_number_has_no_interval() {
        assert_eq!(betting_interval(&[f64::NAN; 9], 0.95), None);
        assert_eq!(betting_interval(&[f64::INFINITY; 9], 0.95), None);
        assert_eq!(betting_interval(&TEN, 1.0), None);
        assert_eq!(effect(&[]), None);
        assert_eq!(effect(&[3.0]), Some(3.0));
    }

    proptest! {
        #[test]
        fn the_interval_turns_with_the_sign(
            values in prop::collection::vec(-1.0..1.0_f64, 0..40)
        ) {
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            match (ends(&values), ends(&turned)) {
                (Some((low, high)), Some((turned_low, turned_high))) => {
                    prop_assert!((low + turned_high).abs() < 1e-9);
                    prop_assert!((high + turned_low).abs() < 1e-9);
                    prop_assert!(low <= high);
                }
                (one, other) => prop_assert_eq!(one.is_some(), other.is_some()),
            }
        }

        #[test]
        fn the_interval_moves_and_scales_with_the_data(
            values in prop::collection::vec(-1.0..1.0_f64, 7..40), by in 0.5..4.0_f64
        ) {
            let scaled: Vec<f64> = values.iter().map(|value| value * by).collect();
            if let (Some((low, high)), Some((scaled_low, scaled_high))) =
                (ends(&values), ends(&scaled))
            {
                prop_assert!((low * by - scaled_low).abs() < 1e-6);
                prop_assert!((high * by - scaled_high).abs() < 1e-6);
            }
        }

        #[test]
        fn nothing_panics(values in prop::collection::vec(any::<f64>(), 0..30)) {
            let _ = betting_interval(&values, 0.95);
        }
    }
}
