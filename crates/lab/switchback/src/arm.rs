//! A placement that is compared with the current one: its pairs, and what they say.

use model::{JudgedBy, TriedPlacement, TryVerdict};
use stats::{Betting, Interval, betting_interval, effect};

use crate::window::Figures;

/// A window that was measured: as a whole, its early half and its late half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// All of it.
    pub whole: Figures,
    /// The early half.
    pub early: Option<Figures>,
    /// The late half.
    pub late: Option<Figures>,
}

/// A placement, with the log ratio of each pair.
#[derive(Debug)]
pub(crate) struct Arm {
    /// Its number.
    pub number: usize,
    /// What is known of it.
    pub verdict: TryVerdict,
    /// Losses that it was to blame for, since a window without one.
    pub losses: u32,
    name: String,
    /// By the figure that judges.
    judged: Vec<f64>,
    /// By the other one.
    other: Vec<f64>,
    /// The late halves less the early ones.
    late: Vec<f64>,
}

impl Arm {
    /// A placement without pairs.
    pub(crate) fn new(number: usize, name: &str) -> Self {
        Arm {
            number,
            verdict: TryVerdict::Undecided,
            losses: 0,
            name: name.to_owned(),
            judged: Vec::new(),
            other: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Adds a pair: a window of this placement, and one of the current one.
    pub(crate) fn add(&mut self, window: &Measured, current: &Measured, by: JudgedBy) {
        let difference = |one: Option<f64>, other: Option<f64>| Some(one? - other?);
        let late = |it: &Measured| difference(it.late?.by(by), it.early?.by(by));
        let [judged, other] = [Figures::by, Figures::other]
            .map(|figure| difference(figure(&window.whole, by), figure(&current.whole, by)));
        self.judged.extend(judged);
        self.other.extend(other);
        self.late.extend(difference(late(window), late(current)));
    }

    /// Forgets all pairs; what was taken back at once stays so.
    pub(crate) fn restart(&mut self) {
        let verdict = self.verdict;
        *self = Arm::new(self.number, &self.name);
        if verdict == TryVerdict::Stopped {
            self.verdict = verdict;
        }
    }

    /// Whether pairs differ between the halves of their windows.
    pub(crate) fn is_late(&self, confidence: f64) -> bool {
        let found = betting_interval(&self.late, confidence);
        matches!(found, Some(Betting::Within(interval)) if !interval.contains(0.0))
    }

    /// Judges what is known now by the smallest gain that is worth it, unless figures mean nothing,
    /// and says it; `None` without pairs.
    pub(crate) fn look(&mut self, least_gain: Option<f64>, confidence: f64) -> Option<String> {
        let estimate = effect(&self.judged)?;
        let percent = |ln: f64| ln.exp_m1() * 100.0;
        let said = match betting_interval(&self.judged, confidence) {
            Some(Betting::Within(interval)) => {
                self.verdict = least_gain.map_or(TryVerdict::Undecided, |gain| {
                    verdict(estimate, &interval, gain.ln_1p())
                });
                let (low, high) = (percent(interval.low), percent(interval.high));
                format!("({low:+.1} to {high:+.1} %)")
            }
            Some(Betting::NoConstant) => "(no constant effect fits)".to_owned(),
            Some(Betting::Open) | None => "(too few pairs for an interval)".to_owned(),
        };
        let verdict = match self.verdict {
            TryVerdict::Better => ": better",
            TryVerdict::Worse => ": worse",
            TryVerdict::Equal => ": as good",
            TryVerdict::Undecided | TryVerdict::Stopped => "",
        };
        let (name, estimate) = (&self.name, percent(estimate));
        Some(format!("{name} gives {estimate:+.1} % {said}{verdict}"))
    }

    /// What came of it.
    pub(crate) fn tried(&self, confidence: f64) -> TriedPlacement {
        let ratio = |differences: &[f64]| effect(differences).map(f64::exp);
        let ends = |differences: &[f64]| match betting_interval(differences, confidence) {
            Some(Betting::Within(interval)) => Some((interval.low.exp(), interval.high.exp())),
            _ => None,
        };
        let (ratio_low, ratio_high) = ends(&self.judged).unzip();
        let (other_low, other_high) = ends(&self.other).unzip();
        TriedPlacement {
            placement: self.name.clone(),
            verdict: self.verdict,
            pairs: u32::try_from(self.judged.len()).unwrap_or(u32::MAX),
            ratio: ratio(&self.judged),
            ratio_low,
            ratio_high,
            other_ratio: ratio(&self.other),
            other_low,
            other_high,
            log_ratios: self.judged.clone(),
            bytes_to_move: None,
            move_s: None,
        }
    }
}

/// The verdict on an effect with its interval, all as logarithms.
fn verdict(estimate: f64, interval: &Interval, gain: f64) -> TryVerdict {
    if interval.low > 0.0 && estimate >= gain {
        TryVerdict::Better
    } else if interval.high < 0.0 {
        TryVerdict::Worse
    } else if interval.low > -gain && interval.high < gain {
        TryVerdict::Equal
    } else {
        TryVerdict::Undecided
    }
}
