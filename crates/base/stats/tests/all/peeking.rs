//! How often sessions of pairs that are looked at after every pair end with a winner, without an
//! effect and with one: simulated, of fixed seeds.
//!
//! The figures are in docs/try.md: `cargo test -p stats --test all peeking -- --nocapture`.

use stats::{Betting, Generator, Interval, betting_interval, ln_wealth};

const CONFIDENCE: f64 = 0.95;
/// Sessions of every figure, and the most pairs of one.
const SESSIONS: u64 = 400;
const PAIRS_MAX: usize = 100;

/// The noise of consecutive windows, as logarithms; each has a standard deviation of some 5 %.
#[derive(Debug, Clone, Copy)]
enum Noise {
    White,
    /// Each window is 0.9 of the one before, and new noise.
    Autoregressive,
    /// One window in ten is disturbed by ten times as much.
    Bursts,
    /// Falls steadily by 2 % a window, beside white noise of 1 %.
    Drift,
    /// Up for two windows, down for two.
    Period,
    /// Two levels, that change in one window of eight.
    Levels,
}

const NOISES: [Noise; 6] = [
    Noise::White,
    Noise::Autoregressive,
    Noise::Bursts,
    Noise::Drift,
    Noise::Period,
    Noise::Levels,
];

impl Noise {
    fn windows(self, generator: &mut Generator) -> Vec<f64> {
        let mut level = 0.0;
        let next = |index: usize| {
            let noise = 0.05 * generator.normal();
            match self {
                Noise::White => noise,
                Noise::Autoregressive => {
                    level = 0.9 * level + 0.44 * noise;
                    level
                }
                Noise::Bursts => {
                    let is_burst = generator.below(10) == 0;
                    noise * if is_burst { 10.0 } else { 1.0 }
                }
                Noise::Drift => -0.02 * index as f64 + noise / 5.0,
                Noise::Period => noise / 5.0 + if index % 4 < 2 { 0.05 } else { -0.05 },
                Noise::Levels => {
                    if index == 0 || generator.below(8) == 0 {
                        level = if generator.below(2) == 0 { 0.1 } else { 0.0 };
                    }
                    level + noise / 5.0
                }
            }
        };
        (0..2 * PAIRS_MAX).map(next).collect()
    }
}

/// The pairs at which a session ends, and its interval; `None` if it has no winner.
fn winner(noise: Noise, effect: f64, session: u64) -> Option<(usize, Interval)> {
    let mut generator = Generator::new(session, 7);
    let windows = noise.windows(&mut generator);
    let mut differences = Vec::new();
    for pair in windows.chunks_exact(2) {
        let (first, second) = (pair[0], pair[1]);
        differences.push(match generator.below(2) {
            0 => first + effect - second,
            _ => second + effect - first,
        });
        // An interval contains what the bets do not refute.
        if ln_wealth(&differences, 0.0) < -(1.0 - CONFIDENCE).ln() {
            continue;
        }
        let found = betting_interval(&differences, CONFIDENCE);
        if let Some(Betting::Within(interval)) = found
            && !interval.contains(0.0)
        {
            return Some((differences.len(), interval));
        }
    }
    None
}

#[test]
fn without_an_effect_at_most_one_session_in_twenty_has_a_winner() {
    for noise in NOISES {
        let sessions = (0..SESSIONS).filter_map(|session| winner(noise, 0.0, session));
        let found = sessions.count();
        println!("{noise:?}: {found} of {SESSIONS} sessions without an effect have a winner");
        assert!(found as u64 * 20 <= SESSIONS, "{noise:?}: {found}");
    }
}

#[test]
fn effects_are_found_with_their_sign() {
    for (effect, least) in [(0.05, 0.8), (0.1, 0.99), (0.2, 0.99), (-0.1, 0.99)] {
        let sessions = (0..100).filter_map(|session| winner(Noise::White, effect, session));
        let found: Vec<(usize, Interval)> = sessions.collect();
        let right = found
            .iter()
            .filter(|(_, interval)| interval.low * effect > 0.0);
        let right = right.count();
        let mut pairs: Vec<usize> = found.iter().map(|(pairs, _)| *pairs).collect();
        pairs.sort_unstable();
        let median = pairs[pairs.len() / 2];
        println!("{effect:+}: {right} of 100 sessions found it, half of them in {median} pairs");
        assert!(right as f64 >= least * 100.0, "{effect}: {right}");
    }
}

/// A session ends when its interval is at its most extreme: that still holds the truth.
#[test]
fn where_a_session_ends_its_interval_holds_the_effect() {
    for noise in NOISES {
        let ended = (0..SESSIONS).filter_map(|session| winner(noise, 0.1, session));
        let ended: Vec<(usize, Interval)> = ended.collect();
        let holding = ended.iter().filter(|(_, interval)| interval.contains(0.1));
        let (holding, ended) = (holding.count() as u64, ended.len() as u64);
        println!("{noise:?}: of {ended} sessions that found an effect, {holding} hold it");
        assert!(ended * 2 > SESSIONS, "{noise:?}: {ended}");
        assert!((ended - holding) * 20 <= SESSIONS, "{noise:?}: {holding}");
    }
}
