//! Decides when a case has enough trials, and when the whole run ends.

use std::collections::BTreeSet;

use model::{Case, RunStatus, Trial};
use stats::{median, median_interval, ratio_of_pairs};

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// Minimum rounds before the interval of a ratio may end a run. Fewer rounds look alike by chance
/// too often: of runs on recorded noise that may end after five, 5.9 % have a false winner.
const ROUNDS_MIN: usize = 8;

/// A case ends after this many trials in a row that did not count.
pub(crate) const UNCOUNTED_RUNNING_MAX: usize = 3;

/// The bounds and the target precision of a run.
#[derive(Debug, Clone)]
pub(crate) struct StopRule {
    pub(crate) baseline: String,
    pub(crate) trials_min: u32,
    pub(crate) trials_max: u32,
    pub(crate) half_width_target: f64,
    /// Cases, by name, for which there is no time.
    pub(crate) left_out: BTreeSet<String>,
}

impl StopRule {
    /// Returns whether a case needs no more trials, or will get none.
    pub(crate) fn has_ended(&self, case: &Case) -> bool {
        valid_trials(case) >= self.trials_max || self.was_given_up(case)
    }

    /// Returns whether a case was left out, or keeps failing: [`UNCOUNTED_RUNNING_MAX`] trials in a
    /// row did not count, or in total as many as a run's minimum number of trials.
    fn was_given_up(&self, case: &Case) -> bool {
        if self.left_out.contains(&case.plan.name) {
            return true;
        }
        let counts = |trial: &&Trial| trial.valid_value().is_some();
        let running = case
            .trials
            .iter()
            .rev()
            .take_while(|trial| !counts(trial))
            .count();
        let uncounted = case.trials.iter().filter(|trial| !counts(trial)).count();
        let uncounted_max = UNCOUNTED_RUNNING_MAX.max(self.trials_min as usize);
        running >= UNCOUNTED_RUNNING_MAX || uncounted >= uncounted_max
    }

    /// Returns the rounds still to run until every open case has its minimum trials, if every trial
    /// counts.
    pub(crate) fn rounds_lacking(&self, cases: &[Case]) -> u32 {
        let open = cases.iter().filter(|case| !self.has_ended(case));
        let lacking = open.map(|case| self.trials_min.saturating_sub(valid_trials(case)));
        lacking.max().unwrap_or(0)
    }

    /// Returns how the run ends before its next round, if it does.
    pub(crate) fn verdict(&self, cases: &[Case]) -> Option<RunStatus> {
        let given_up = cases.iter().filter(|case| self.was_given_up(case)).count();
        let mut others = cases.iter().filter(|case| !self.was_given_up(case));
        if given_up == cases.len() {
            let any_valid = cases.iter().any(|case| valid_trials(case) > 0);
            return Some(if any_valid {
                RunStatus::Bounded
            } else {
                RunStatus::Failed
            });
        }
        if others.all(|case| self.is_narrow(case) || self.is_told_apart(case, cases)) {
            return Some(match given_up {
                0 => RunStatus::Settled,
                _ => RunStatus::Bounded,
            });
        }
        let all_ended = cases.iter().all(|case| self.has_ended(case));
        all_ended.then_some(RunStatus::Bounded)
    }

    /// Returns whether a case has its minimum trials and its interval is narrow enough.
    fn is_narrow(&self, case: &Case) -> bool {
        let values: Vec<f64> = case.trials.iter().filter_map(Trial::valid_value).collect();
        if values.len() < self.trials_min as usize {
            return false;
        }
        let half_width = median_interval(&values, CONFIDENCE)
            .and_then(|interval| interval.relative_half_width(median(&values)?));
        half_width.is_some_and(|half_width| half_width <= self.half_width_target)
    }

    /// Returns whether the windows of a case alternated with those of the baseline and the interval
    /// of their ratio is narrow: noise common to both then cancels. For the baseline, returns
    /// whether this holds for all other cases. Only the width of the interval matters, never its
    /// position.
    fn is_told_apart(&self, case: &Case, cases: &[Case]) -> bool {
        let Some(baseline) = cases.iter().find(|it| it.plan.name == self.baseline) else {
            return false;
        };
        if case.plan.name != self.baseline {
            return self.is_narrow_against(case, baseline);
        }
        let others = cases.iter().filter(|it| it.plan.name != self.baseline);
        let mut going_on = others.filter(|it| !self.was_given_up(it)).peekable();
        going_on.peek().is_some() && going_on.all(|it| self.is_narrow_against(it, baseline))
    }

    fn is_narrow_against(&self, case: &Case, baseline: &Case) -> bool {
        let value_in = |case: &Case, round: u32| {
            let trial = case.trials.iter().find(|trial| trial.round == round);
            trial.filter(|it| it.has_alternated())?.valid_value()
        };
        let rounds = case.trials.iter().map(|trial| trial.round);
        let pairs = rounds.map(|round| (value_in(case, round), value_in(baseline, round)));
        let (of_case, of_baseline): (Vec<_>, Vec<_>) = pairs.unzip();
        let both = of_case.iter().zip(&of_baseline);
        let count = both.filter(|(one, other)| one.is_some() && other.is_some());
        if count.count() < ROUNDS_MIN.max(self.trials_min as usize) {
            return false;
        }
        ratio_of_pairs(&of_case, &of_baseline, CONFIDENCE)
            .and_then(|it| it.interval.relative_half_width(it.ratio))
            .is_some_and(|half_width| half_width <= self.half_width_target)
    }

    /// Returns how many trials may still run, if all of them count.
    pub(crate) fn trials_left(&self, cases: &[Case]) -> u32 {
        let open = cases.iter().filter(|case| !self.has_ended(case));
        open.map(|case| self.trials_max - valid_trials(case)).sum()
    }
}

fn valid_trials(case: &Case) -> u32 {
    let valid = case
        .trials
        .iter()
        .filter(|trial| trial.valid_value().is_some());
    u32::try_from(valid.count()).unwrap_or(u32::MAX)
}
