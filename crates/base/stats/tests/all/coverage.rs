//! How often the intervals are right: simulated samples of which the truth is known.
//!
//! Every figure is the outcome of fixed seeds, so these tests pass always or never. What they
//! print is in docs/measurement.md:
//! `cargo test -p stats --test all coverage -- --nocapture`.

use std::cmp::Ordering;

use stats::{Generator, Interval, median_interval, ranks, ratio_interval};

const CONFIDENCE: f64 = 0.95;
/// Repetitions of every figure.
const MANY: u64 = 2_000;

/// How the values of a sample scatter around the true median 1.
#[derive(Debug, Clone, Copy)]
enum Noise {
    /// Normal, with this standard deviation.
    Normal(f64),
    /// The exponential of a normal deviate: skewed, a long tail above.
    LogNormal(f64),
    /// Normal, but one value in eight is 10 % lower: a disturbed trial.
    Disturbed(f64),
}

impl Noise {
    fn draw(self, generator: &mut Generator) -> f64 {
        match self {
            Noise::Normal(deviation) => 1.0 + deviation * generator.normal(),
            Noise::LogNormal(deviation) => (deviation * generator.normal()).exp(),
            Noise::Disturbed(deviation) => {
                let lost = if generator.below(8) == 0 { 0.1 } else { 0.0 };
                1.0 + deviation * generator.normal() - lost
            }
        }
    }

    fn sample(self, count: usize, seed: u64, stream: u64) -> Vec<f64> {
        let mut generator = Generator::new(seed, stream);
        (0..count).map(|_| self.draw(&mut generator)).collect()
    }
}

/// The share of repetitions for which `happens` is true.
fn share(repetitions: u64, happens: impl Fn(u64) -> bool) -> f64 {
    let times = (0..repetitions).filter(|seed| happens(*seed)).count();
    times as f64 / repetitions as f64
}

/// Whether a share seen in [`MANY`] repetitions is no sign that the true one exceeds `limit`: it
/// may be three standard errors above.
fn is_at_most(seen: f64, limit: f64) -> bool {
    seen <= limit + 3.0 * (limit * (1.0 - limit) / MANY as f64).sqrt()
}

fn ratio(a: &[f64], b: &[f64]) -> Interval {
    ratio_interval(a, b, CONFIDENCE).unwrap()
}

fn names_a_winner(a: &[f64], b: &[f64]) -> bool {
    !ratio(a, b).contains(1.0)
}

fn false_winners(noise: Noise, a: usize, b: usize, repetitions: u64) -> f64 {
    share(repetitions, |seed| {
        let (first, second) = (noise.sample(a, seed, 100), noise.sample(b, seed, 101));
        names_a_winner(&first, &second)
    })
}

#[test]
fn the_same_case_twice_has_no_winner_in_19_of_20() {
    for count in [5, 8, 12] {
        let share = false_winners(Noise::Normal(0.02), count, count, MANY);
        println!("A/A, {count} trials each: {share} false winners");
        assert!(share <= 0.05, "{count}: {share}");
    }
}

#[test]
fn skewed_and_disturbed_and_unequal_samples_keep_the_promise_too() {
    for (noise, a, b) in [
        (Noise::Normal(0.02), 5, 12),
        (Noise::LogNormal(0.2), 5, 5),
        (Noise::LogNormal(0.2), 12, 12),
        (Noise::Disturbed(0.02), 5, 5),
        (Noise::Disturbed(0.02), 12, 12),
    ] {
        let share = false_winners(noise, a, b, MANY);
        println!("A/A {noise:?}, {a} and {b} trials: {share} false winners");
        assert!(share <= 0.05, "{noise:?} {a} {b}: {share}");
    }
}

#[test]
fn an_effect_of_ten_percent_in_two_percent_noise_is_found() {
    let noise = Noise::Normal(0.02);
    // Only ten percent is promised; the others are for the documents.
    let effects = [1.03, 1.05, 1.1f64];
    for (effect, count) in effects
        .iter()
        .flat_map(|effect| [5, 8, 12].map(|n| (effect, n)))
    {
        let found = share(MANY, |seed| {
            let slow = noise.sample(count, seed, 100);
            let fast = noise.sample(count, seed, 101);
            let fast: Vec<f64> = fast.iter().map(|value| value * effect).collect();
            ratio(&fast, &slow).low > 1.0
        });
        println!("{effect} times in 2 % noise, {count} trials: found in {found}");
        assert!(*effect < 1.1 || found >= 0.9, "{count}: {found}");
    }
}

#[test]
fn the_ratio_interval_holds_the_true_ratio_in_19_of_20() {
    let noise = Noise::Normal(0.05);
    for count in [5, 8, 12] {
        let held = share(MANY, |seed| {
            let slow = noise.sample(count, seed, 100);
            let fast = noise.sample(count, seed, 101);
            let fast: Vec<f64> = fast.iter().map(|value| value * 2.15).collect();
            ratio(&fast, &slow).contains(2.15)
        });
        println!("ratio of 2.15 in 5 % noise, {count} trials: held in {held}");
        assert!(is_at_most(1.0 - held, 0.05), "{count}: {held}");
    }
}

/// Every number of trials that a run may have, and some more.
const COUNTS: [usize; 11] = [5, 6, 7, 8, 9, 10, 11, 12, 15, 20, 30];

#[test]
fn the_ratio_interval_is_as_sure_as_it_says_where_one_case_does_not_scatter() {
    // The worst that can be: the interval is then one of the other case's median.
    for noise in [Noise::Normal(0.02), Noise::LogNormal(0.2)] {
        for count in COUNTS {
            let still = vec![1.0; count];
            let claimed = ratio(&still, &still).confidence;
            let held = share(MANY, |seed| {
                ratio(&noise.sample(count, seed, 100), &still).contains(1.0)
            });
            println!("ratio to a case that does not scatter, {noise:?}, {count} trials: {held}");
            assert!(
                is_at_most(1.0 - held, 1.0 - claimed),
                "{noise:?} {count}: {held}"
            );
        }
    }
}

#[test]
fn the_median_interval_is_as_sure_as_it_says() {
    for noise in [Noise::Normal(0.02), Noise::LogNormal(0.2)] {
        for count in COUNTS {
            let claimed = median_interval(&vec![1.0; count], CONFIDENCE).unwrap();
            let held = share(MANY, |seed| {
                let sample = noise.sample(count, seed, 100);
                median_interval(&sample, CONFIDENCE).unwrap().contains(1.0)
            });
            let claimed = claimed.confidence;
            println!("median, {noise:?}, {count} trials: held in {held}, claimed {claimed}");
            assert!(
                is_at_most(1.0 - held, 1.0 - claimed),
                "{noise:?} {count}: {held}"
            );
        }
    }
}

#[test]
fn five_equal_cases_seldom_seem_to_differ() {
    // Each comparison keeps its promise; these are the chances that any one of several breaks it:
    // of four with a baseline, and of the ten of which ranks are made.
    let noise = Noise::Normal(0.02);
    for (count, at_most) in [(5, 0.07), (8, 0.05), (12, 0.05)] {
        let cases = |seed| (0..5).map(move |case| noise.sample(count, seed, 100 + case));
        let any_winner = share(MANY, |seed| {
            let samples: Vec<Vec<f64>> = cases(seed).collect();
            let (baseline, others) = (&samples[0], &samples[1..]);
            others.iter().any(|other| names_a_winner(other, baseline))
        });
        let split = share(MANY, |seed| {
            let samples: Vec<Vec<f64>> = cases(seed).collect();
            let compare = |a: usize, b: usize| match ratio(&samples[a], &samples[b]) {
                ratio if ratio.low > 1.0 => Ordering::Greater,
                ratio if ratio.high < 1.0 => Ordering::Less,
                _ => Ordering::Equal,
            };
            ranks(5, compare).iter().any(|rank| rank.best > 1)
        });
        println!("five equal cases, {count} trials: a winner in {any_winner}");
        println!("five equal cases, {count} trials: ranks differ in {split}");
        assert!(is_at_most(any_winner, 0.05), "{count}: {any_winner}");
        assert!(is_at_most(split, at_most), "{count}: {split}");
    }
}
