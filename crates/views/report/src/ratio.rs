//! Ratios of two cases of a run: which trials they are made of, how sure they are, what they say,
//! and whether they may be believed at all.

use std::collections::BTreeMap;

use model::{Better, Case, Metric, Run, RunStatus, Trial};
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
    /// What could have been seen: a larger difference than this share of the baseline, either way,
    /// is outside of the interval.
    pub fn difference_below(self) -> f64 {
        (self.interval.high - 1.0).max(1.0 - self.interval.low)
    }

    /// The same comparison seen from the other side.
    pub(crate) fn inverse(self) -> Ratio {
        Ratio {
            ratio: 1.0 / self.ratio,
            interval: self.interval.inverse(),
        }
    }
}

/// Whether the machine's speeds mean nothing.
pub(crate) fn is_emulated(run: &Run) -> bool {
    run.machine.as_ref().is_some_and(|machine| {
        machine.emulated == Some(true) || machine.topology.emulated == Some(true)
    })
}

/// Index of the case that others are compared with.
pub(crate) fn baseline_index(run: &Run) -> Option<usize> {
    run.cases
        .iter()
        .position(|case| case.plan.name == run.baseline)
}

/// A number that is the higher the better a value, or a ratio of values, of this metric is.
pub(crate) fn merit(metric: Metric, value: f64) -> f64 {
    match metric.better() {
        Better::More => value,
        Better::Less => -value,
    }
}

/// What a ratio says.
pub(crate) fn verdict(metric: Metric, ratio: Ratio) -> Verdict {
    let Interval { low, high, .. } = ratio.interval;
    match metric.better() {
        _ if low <= 1.0 && high >= 1.0 => Verdict::Tie,
        Better::More if low > 1.0 => Verdict::Faster,
        Better::Less if high < 1.0 => Verdict::Faster,
        _ => Verdict::Slower,
    }
}

/// The ratio of two cases of a run, if it has an interval.
pub(crate) fn ratio(run: &Run, case: usize, baseline: usize) -> Option<Ratio> {
    let value = |trial: &Trial| trial.valid_value();
    ratio_of(run, &run.cases[case], &run.cases[baseline], value)
}

/// The ratio of a figure of the valid trials of two cases of a run, if it has an interval.
pub(crate) fn ratio_of(
    run: &Run,
    case: &Case,
    baseline: &Case,
    figure: impl Fn(&Trial) -> Option<f64>,
) -> Option<Ratio> {
    let alternated = [case, baseline].iter().all(|it| have_alternated(it));
    let (case, baseline) = (figures(case, &figure), figures(baseline, &figure));
    if alternated {
        let (case, baseline) = by_round(&case, &baseline);
        return stats::ratio_of_pairs(&case, &baseline, CONFIDENCE).map(Ratio::from);
    }
    let (case, baseline) = match run.status {
        // Nobody says that the reports of two cases were made in rounds.
        RunStatus::Imported => apart(&case, &baseline),
        _ => by_round(&case, &baseline),
    };
    estimate((case, baseline))
}

/// Whether the windows of all trials that count alternated with those of other cases.
fn have_alternated(case: &Case) -> bool {
    let mut counted = case.trials.iter().filter(|it| it.valid_value().is_some());
    counted.all(Trial::has_alternated)
}

/// The ratio of two cases whose trials were not made in the same rounds.
pub(crate) fn independent_ratio(case: &Case, baseline: &Case) -> Option<Ratio> {
    let values = |case: &Case| figures(case, |trial: &Trial| trial.valid_value());
    estimate(apart(&values(case), &values(baseline)))
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

/// A figure of each trial that has it, with its round.
fn figures(case: &Case, figure: impl Fn(&Trial) -> Option<f64>) -> Vec<(u32, f64)> {
    let trials = case.trials.iter();
    let figures = trials.filter_map(|trial| Some((trial.round, figure(trial)?)));
    figures.collect()
}

/// Figures of two cases, the same place being the same round.
type Aligned = (Vec<Option<f64>>, Vec<Option<f64>>);

fn by_round(case: &[(u32, f64)], baseline: &[(u32, f64)]) -> Aligned {
    let mut rounds: BTreeMap<u32, (Option<f64>, Option<f64>)> = BTreeMap::new();
    // A round holds each case once; what a damaged file has beyond that stands alone.
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
