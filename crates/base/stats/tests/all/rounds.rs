//! What comparing within rounds gains and what it promises: simulated runs whose rounds are
//! disturbed as a whole.
//!
//! Every figure is the outcome of fixed seeds, so these tests pass always or never. What they
//! print is in docs/measurement.md: `cargo test -p stats --test all rounds -- --nocapture`.

use stats::{Generator, Interval, ratio_by_rounds, ratio_interval, ratio_of_cases};

const CONFIDENCE: f64 = 0.95;
/// Repetitions of every figure.
const MANY: u64 = 2_000;

/// What makes the trials of one case differ.
#[derive(Debug, Clone, Copy)]
struct Noise {
    /// Standard deviation of the logarithm of a trial.
    trial: f64,
    /// Standard deviation of the logarithm of a round: all of its trials are that much off.
    round: f64,
    /// Whether one trial in eight is slowed by 10 % more.
    disturbed: bool,
}

const QUIET: Noise = Noise {
    trial: 0.02,
    round: 0.0,
    disturbed: false,
};
const BUSY: Noise = Noise {
    round: 0.1,
    ..QUIET
};
const SKEWED: Noise = Noise {
    trial: 0.2,
    ..QUIET
};
const DISTURBED: Noise = Noise {
    disturbed: true,
    ..QUIET
};

/// Two cases over the same rounds; the first does `effect` times what the second does.
fn run(noise: Noise, effect: f64, rounds: usize, seed: u64) -> [Vec<f64>; 2] {
    let mut generator = Generator::new(seed, 200);
    let mut cases = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let round = noise.round * generator.normal();
        for (case, factor) in cases.iter_mut().zip([effect, 1.0]) {
            let slowed = noise.disturbed && generator.below(8) == 0;
            let loss = if slowed { 0.1 } else { 0.0 };
            let noise: f64 = round + noise.trial * generator.normal() - loss;
            case.push(factor * noise.exp());
        }
    }
    cases
}

fn values(case: &[f64]) -> Vec<Option<f64>> {
    case.iter().copied().map(Some).collect()
}

fn by_rounds([case, baseline]: &[Vec<f64>; 2]) -> Interval {
    let found = ratio_by_rounds(&values(case), &values(baseline), CONFIDENCE);
    found.unwrap().interval
}

/// The interval that is shown: the narrower of the two.
fn shown([case, baseline]: &[Vec<f64>; 2]) -> Interval {
    let found = ratio_of_cases(&values(case), &values(baseline), CONFIDENCE);
    found.unwrap().interval
}

fn apart([case, baseline]: &[Vec<f64>; 2]) -> Interval {
    ratio_interval(case, baseline, CONFIDENCE).unwrap()
}

/// The share of simulated runs for which `happens` is true.
fn share(happens: impl Fn(u64) -> bool) -> f64 {
    (0..MANY).filter(|seed| happens(*seed)).count() as f64 / MANY as f64
}

/// Whether a share seen in [`MANY`] repetitions is no sign that the true one exceeds `limit`: it
/// may be three standard errors above.
fn is_at_most(seen: f64, limit: f64) -> bool {
    seen <= limit + 3.0 * (limit * (1.0 - limit) / MANY as f64).sqrt()
}

#[test]
fn the_same_case_twice_has_no_winner_in_19_of_20() {
    for noise in [QUIET, BUSY, SKEWED, DISTURBED] {
        for rounds in [5, 8, 12, 20] {
            let false_winners = share(|seed| {
                let cases = run(noise, 1.0, rounds, seed);
                !by_rounds(&cases).contains(1.0)
            });
            println!("A/A {noise:?}, {rounds} rounds: {false_winners} false winners");
            assert!(is_at_most(false_winners, 0.05), "{noise:?} {rounds}");
        }
    }
}

#[test]
fn what_is_shown_has_false_winners_as_seldom_as_before() {
    for noise in [QUIET, BUSY, SKEWED, DISTURBED] {
        for rounds in [5, 8, 12] {
            let mut winners = [0.0, 0.0];
            for seed in 0..MANY {
                let cases = run(noise, 1.0, rounds, seed);
                let found = [apart(&cases), shown(&cases)];
                for (winners, interval) in winners.iter_mut().zip(found) {
                    *winners += f64::from(u8::from(!interval.contains(1.0))) / MANY as f64;
                }
            }
            let [before, now] = winners;
            println!("A/A {noise:?}, {rounds} rounds: {before} false winners before, {now} now");
            let limit = 0.02 + 3.0 * (0.02 / MANY as f64).sqrt();
            assert!(now <= limit, "{noise:?} {rounds}: {now}");
        }
    }
}

#[test]
fn five_equal_cases_seldom_seem_to_differ() {
    for (rounds, at_most) in [(5, 0.05), (8, 0.05), (12, 0.06)] {
        let any = (0..MANY).filter(|seed| {
            let mut generator = Generator::new(*seed, 201);
            let mut cases = vec![Vec::new(); 5];
            for _ in 0..rounds {
                let round = 0.1 * generator.normal();
                for case in &mut cases {
                    case.push(f64::exp(round + 0.02 * generator.normal()));
                }
            }
            (1..5).any(|case| {
                let pair = [cases[case].clone(), cases[0].clone()];
                !shown(&pair).contains(1.0)
            })
        });
        let any = any.count() as f64 / MANY as f64;
        println!("five equal cases, busy, {rounds} rounds: a winner in {any}");
        let limit = at_most + 3.0 * (at_most / MANY as f64).sqrt();
        assert!(any <= limit, "{rounds}: {any}");
    }
}

#[test]
fn what_is_shown_is_never_wider_and_on_a_busy_machine_far_narrower() {
    for (noise, least) in [(QUIET, 1.0), (BUSY, 2.5)] {
        for rounds in [5, 8, 12] {
            let (mut before, mut now, mut found) = (0.0, 0.0, [0.0, 0.0]);
            for seed in 0..MANY {
                let cases = run(noise, 1.1, rounds, seed);
                let (apart, shown) = (apart(&cases), shown(&cases));
                let width = |it: Interval| (it.high / it.low).ln();
                assert!(width(shown) <= width(apart), "{noise:?} {rounds} {seed}");
                before += width(apart);
                now += width(shown);
                for (found, interval) in found.iter_mut().zip([apart, shown]) {
                    *found += f64::from(u8::from(interval.low > 1.0)) / MANY as f64;
                }
            }
            let narrower = before / now;
            println!("1.1 times {noise:?}, {rounds} rounds: {narrower} times narrower, {found:?}");
            assert!(narrower >= least, "{noise:?} {rounds}: {narrower}");
        }
    }
}

#[test]
fn the_interval_holds_the_true_ratio_in_19_of_20() {
    for noise in [QUIET, BUSY, SKEWED] {
        for rounds in [5, 8, 12] {
            let missed = share(|seed| {
                let cases = run(noise, 2.15, rounds, seed);
                !by_rounds(&cases).contains(2.15)
            });
            println!("2.15 {noise:?}, {rounds} rounds: held in {}", 1.0 - missed);
            assert!(is_at_most(missed, 0.05), "{noise:?} {rounds}: {missed}");
        }
    }
}

#[test]
fn a_busy_machine_widens_the_interval_of_independent_trials_and_not_that_of_rounds() {
    for (noise, least) in [(QUIET, 1.0), (BUSY, 4.0)] {
        for rounds in [5, 8, 12] {
            let mut widths = [0.0, 0.0];
            for seed in 0..40 {
                let cases = run(noise, 1.1, rounds, seed);
                for (width, interval) in widths.iter_mut().zip([apart(&cases), by_rounds(&cases)]) {
                    *width += (interval.high / interval.low).ln() / 40.0;
                }
            }
            let narrower = widths[0] / widths[1];
            println!("{noise:?}, {rounds} rounds: {narrower} times narrower");
            assert!(narrower > least, "{noise:?} {rounds}: {widths:?}");
        }
    }
}

#[test]
fn an_effect_of_ten_percent_is_found_on_a_busy_machine_too() {
    for (noise, effect) in [
        (QUIET, 1.05),
        (QUIET, 1.1),
        (BUSY, 1.05),
        (BUSY, 1.1),
        (DISTURBED, 1.1),
    ] {
        for rounds in [5, 8, 12] {
            let found = share(|seed| by_rounds(&run(noise, effect, rounds, seed)).low > 1.0);
            println!("{effect} times {noise:?}, {rounds} rounds: found in {found}");
            let promised = effect > 1.09 && !noise.disturbed;
            assert!(!promised || found >= 0.9, "{noise:?} {rounds}: {found}");
        }
    }
}
