//! How long a window should be, found from the target as it was before anything was tried.

use model::JudgedBy;

use crate::Sample;
use crate::window::Figures;

/// Lengths of windows that are compared, in seconds.
const WINDOWS_S: [u32; 6] = [2, 5, 10, 20, 30, 60];
/// The lead-in as a share of the window, and the shortest: of what settles within a third of it, a
/// pair loses less than 1 %.
const LEAD_IN_SHARE: f64 = 0.2;
const LEAD_IN_MIN_S: f64 = 1.0;
/// The lead-in of a window, in seconds.
pub fn lead_in_s(window_s: f64) -> f64 {
    (window_s * LEAD_IN_SHARE).max(LEAD_IN_MIN_S)
}

/// Fewer pretended pairs than this say nothing.
const PAIRS_MIN: usize = 8;
/// Half-width of the interval of a session, as standard deviations of a pair by √pairs: 1.7 times
/// that of Student's t.
const HALF_WIDTHS: f64 = 1.7 * 1.96;

/// The window, and how much pairs of such windows scatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The length of a window, in seconds.
    pub window_s: f64,
    /// The lead-in of a window, in seconds.
    pub lead_in_s: f64,
    /// Root mean square of the log ratio of pairs without an effect; `None` if unknown.
    pub pair_sd: Option<f64>,
}

impl Noise {
    /// Seconds of a pair, or of as many windows, without moves.
    pub fn block_s(&self, windows: usize) -> f64 {
        windows as f64 * (self.window_s + self.lead_in_s)
    }

    /// The half-width that the interval will have after this many pairs, as a logarithm.
    pub fn half_width(&self, pairs: f64) -> Option<f64> {
        Some(HALF_WIDTHS * self.pair_sd? / pairs.max(1.0).sqrt())
    }
}

/// Finds the window of at least `least_s` whose pairs tell most in a given time, among samples of
/// each second; `asked` is taken as it is.
pub fn noise(samples: &[Sample], by: JudgedBy, asked: Option<f64>, least_s: f64) -> Noise {
    let of = |window_s: f64| {
        let lead_in_s = lead_in_s(window_s);
        Noise {
            window_s,
            lead_in_s,
            pair_sd: pair_sd(samples, by, window_s, lead_in_s),
        }
    };
    if let Some(asked) = asked {
        return of(asked);
    }
    let lengths = WINDOWS_S.map(f64::from).into_iter();
    let lengths = lengths.filter(|length| *length >= least_s);
    let known = lengths.map(of).filter(|noise| noise.pair_sd.is_some());
    let cost = |noise: &Noise| noise.pair_sd.unwrap_or(0.0).powi(2) * noise.block_s(2);
    let best = known.min_by(|one, other| cost(one).total_cmp(&cost(other)));
    best.unwrap_or_else(|| of(least_s.max(LEAD_IN_MIN_S)))
}

/// How much the pairs scatter that the samples would make, each begun a second after the other.
fn pair_sd(samples: &[Sample], by: JudgedBy, window_s: f64, lead_in_s: f64) -> Option<f64> {
    let steps = |seconds: f64| (seconds.round() as usize).max(1);
    let (window, lead_in) = (steps(window_s), steps(lead_in_s));
    let figure = |from: usize| {
        let figures = Figures::between(samples.get(from)?, samples.get(from + window)?)?;
        figures.by(by)
    };
    let second = window + lead_in;
    let pairs = (0..samples.len()).map_while(|from| {
        samples.get(from + second + window)?;
        Some(figure(from).zip(figure(from + second)))
    });
    let squares = pairs.flatten().map(|(one, other)| (other - one).powi(2));
    let squares: Vec<f64> = squares.collect();
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    (squares.len() >= PAIRS_MIN).then(|| mean.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two minutes; `work_of` says how much is done in each second.
    fn samples(work_of: impl Fn(u64) -> u64) -> Vec<Sample> {
        let mut work = 0;
        let sample = |second: u64| {
            let sample = Sample {
                at_s: second as f64,
                work: Some(work),
                mix: None,
                cpu_s: second as f64 / 2.0,
            };
            work += work_of(second);
            sample
        };
        (0..=120).map(sample).collect()
    }

    #[test]
    fn a_steady_load_has_short_windows_and_a_wave_is_covered() {
        let by = JudgedBy::Cost;
        let steady = noise(&samples(|_| 1000), by, None, 2.0);
        assert_eq!((steady.window_s, steady.lead_in_s), (2.0, 1.0));
        assert!(steady.pair_sd.unwrap() < 1e-9);
        // Ten seconds up, ten down: only windows of 20 s are all alike.
        let wave = noise(
            &samples(|at| if at % 20 < 10 { 1500 } else { 500 }),
            by,
            None,
            2.0,
        );
        assert_eq!(wave.window_s, 20.0);
        assert!(wave.pair_sd.unwrap() < 0.01, "{wave:?}");
        let known = Noise {
            pair_sd: Some(0.1),
            ..wave
        };
        let (few, many) = (known.half_width(4.0), known.half_width(100.0));
        assert!((few.unwrap() / many.unwrap() - 5.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_asked_for_or_needed_is_taken() {
        let by = JudgedBy::Rate;
        let load = samples(|at| 900 + at % 7 * 50);
        assert_eq!(noise(&load, by, Some(1.0), 20.0).window_s, 1.0);
        assert!(noise(&load, by, None, 20.0).window_s >= 20.0);
        let short = noise(&load[..4], by, None, 20.0);
        assert_eq!((short.window_s, short.pair_sd), (20.0, None));
        assert_eq!(short.half_width(10.0), None);
    }
}
