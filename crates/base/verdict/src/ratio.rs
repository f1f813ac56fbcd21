//! Ratios of two cases of a run: the trials behind them, their interval, their verdict, and whether
//! they are meaningful at all.

use std::collections::BTreeMap;

use model::{Better, Case, Metric, Run, RunStatus, Trial, Work};
use stats::{Estimate, Interval};

use crate::confidence::CONFIDENCE;
use crate::verdict::Verdict;

/// A ratio of two medians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio of the medians.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
}

impl Ratio {
    /// Returns the smallest detectable difference: the interval excludes any difference larger than
    /// this share of the baseline, in either direction.
    pub fn difference_below(self) -> f64 {
        (self.interval.high - 1.0).max(1.0 - self.interval.low)
    }

    /// Returns the reverse comparison.
    pub fn inverse(self) -> Ratio {
        Ratio {
            ratio: 1.0 / self.ratio,
            interval: self.interval.inverse(),
        }
    }
}

/// Returns whether reads of a case cost what a table says: then figures say nothing about hardware,
/// but differences on any machine are those of the table.
pub fn has_emulated_cost(run: &Run) -> bool {
    let mut plans = run.cases.iter().map(|case| &case.plan);
    plans.any(|plan| plan.emulated_cost().is_some())
}

/// Returns whether the machine is emulated, so that its speeds mean nothing.
pub fn is_emulated(run: &Run) -> bool {
    !has_emulated_cost(run) && is_emulated_machine(run)
}

fn is_emulated_machine(run: &Run) -> bool {
    run.machine.as_ref().is_some_and(|machine| {
        machine.emulated == Some(true) || machine.topology.emulated == Some(true)
    })
}

/// Returns whether the cases of a run are points of curves of latency under load, so that a ranking
/// would be one of loads.
pub fn is_load_sweep(run: &Run) -> bool {
    let is_point = |case: &Case| matches!(case.plan.work, Work::LoadedLatency(_));
    !run.cases.is_empty() && run.cases.iter().all(is_point)
}

/// Returns the index of the case that the others are compared with.
pub fn baseline_index(run: &Run) -> Option<usize> {
    run.cases
        .iter()
        .position(|case| case.plan.name == run.baseline)
}

/// Converts a value, or a ratio of values, of this metric to a number for which higher is better.
pub fn merit(metric: Metric, value: f64) -> f64 {
    match metric.better() {
        Better::More => value,
        Better::Less => -value,
    }
}

/// Returns the verdict of a ratio.
pub(crate) fn verdict(metric: Metric, ratio: Ratio) -> Verdict {
    let Interval { low, high, .. } = ratio.interval;
    match metric.better() {
        _ if low <= 1.0 && high >= 1.0 => Verdict::Tie,
        Better::More if low > 1.0 => Verdict::Faster,
        Better::Less if high < 1.0 => Verdict::Faster,
        _ => Verdict::Slower,
    }
}

/// Returns the ratio of two cases of a run, if it has an interval.
pub(crate) fn ratio(run: &Run, case: usize, baseline: usize) -> Option<Ratio> {
    let value = |trial: &Trial| trial.valid_value();
    ratio_of(run, &run.cases[case], &run.cases[baseline], value)
}

/// Returns the ratio of a figure of the valid trials of two cases of a run, if it has an interval.
pub(crate) fn ratio_of(
    run: &Run,
    case: &Case,
    baseline: &Case,
    figure: impl Fn(&Trial) -> Option<f64>,
) -> Option<Ratio> {
    let alternated = [case, baseline].iter().all(|it| have_alternated(it));
    let (case, baseline) = (figures(case, &figure), figures(baseline, &figure));
    // Pairs are pairs by what was done or declared before there were figures.
    if alternated || (run.status == RunStatus::Imported && in_rounds(run)) {
        let (case, baseline) = by_round(&case, &baseline);
        return stats::ratio_of_pairs(&case, &baseline, CONFIDENCE).map(Ratio::from);
    }
    let (case, baseline) = match run.status {
        // Nothing indicates that imported trials come from common rounds.
        RunStatus::Imported => apart(&case, &baseline),
        _ => by_round(&case, &baseline),
    };
    estimate((case, baseline))
}

/// Returns whether the user said that trials of a round ran side by side.
fn in_rounds(run: &Run) -> bool {
    let mut works = run.cases.iter().map(|case| &case.plan.work);
    works.all(|work| matches!(work, Work::Imported(work) if work.in_rounds))
}

/// Returns whether the windows of all valid trials alternated with those of other cases.
pub(crate) fn have_alternated(case: &Case) -> bool {
    let mut counted = case.trials.iter().filter(|it| it.valid_value().is_some());
    counted.all(Trial::has_alternated)
}

/// Returns the ratio of two cases whose trials did not run in the same rounds.
pub(crate) fn independent_ratio(case: &Case, baseline: &Case) -> Option<Ratio> {
    let values = |case: &Case| figures(case, |trial: &Trial| trial.valid_value());
    estimate(apart(&values(case), &values(baseline)))
}

/// Returns the ratio of two imported cases without an interval: that of their medians, or of pairs
/// the geometric mean of the ratios within rounds, which may differ in size.
pub(crate) fn bare_ratio(run: &Run, case: &Case, baseline: &Case) -> Option<f64> {
    let value = |trial: &Trial| trial.valid_value();
    let (case, baseline) = (figures(case, value), figures(baseline, value));
    let ratio = if in_rounds(run) {
        let (case, baseline) = by_round(&case, &baseline);
        let pairs = case.into_iter().zip(baseline);
        let logarithms = pairs.filter_map(|(case, baseline)| Some((case? / baseline?).ln()));
        let logarithms: Vec<f64> = logarithms.collect();
        (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
    } else {
        let values = |of: &[(u32, f64)]| of.iter().map(|(_, value)| *value).collect::<Vec<_>>();
        stats::median(&values(&case))? / stats::median(&values(&baseline))?
    };
    (run.status == RunStatus::Imported && ratio.is_finite()).then_some(ratio)
}

fn estimate((case, baseline): Aligned) -> Option<Ratio> {
    stats::ratio_of_cases(&case, &baseline, CONFIDENCE).map(Ratio::from)
}

impl From<Estimate> for Ratio {
    fn from(estimate: Estimate) -> Self {
        Ratio {
            ratio: estimate.ratio,
            interval: estimate.interval,
        }
    }
}

/// Returns a figure of each trial that has it, with its round.
fn figures(case: &Case, figure: impl Fn(&Trial) -> Option<f64>) -> Vec<(u32, f64)> {
    let trials = case.trials.iter();
    let figures = trials.filter_map(|trial| Some((trial.round, figure(trial)?)));
    figures.collect()
}

/// Figures of two cases; equal positions are the same round.
type Aligned = (Vec<Option<f64>>, Vec<Option<f64>>);

fn by_round(case: &[(u32, f64)], baseline: &[(u32, f64)]) -> Aligned {
    let mut rounds: BTreeMap<u32, (Option<f64>, Option<f64>)> = BTreeMap::new();
    // A round holds each case once; duplicates in a damaged file stay unpaired.
    let mut alone: Vec<(Option<f64>, Option<f64>)> = Vec::new();
    for (round, figure) in case {
        match rounds.entry(*round).or_default() {
            (free @ None, _) => *free = Some(*figure),
            _ => alone.push((Some(*figure), None)),
        }
    }
    for (round, figure) in baseline {
        match rounds.entry(*round).or_default() {
            (_, free @ None) => *free = Some(*figure),
            _ => alone.push((None, Some(*figure))),
        }
    }
    rounds.into_values().chain(alone).unzip()
}

fn apart(case: &[(u32, f64)], baseline: &[(u32, f64)]) -> Aligned {
    let case = case.iter().map(|(_, figure)| (Some(*figure), None));
    let baseline = baseline.iter().map(|(_, figure)| (None, Some(*figure)));
    case.chain(baseline).unzip()
}
