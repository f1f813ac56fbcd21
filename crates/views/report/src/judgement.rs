//! Decides what a run says: medians, intervals, ranks, a verdict for each case and one for all.
//!
//! Pure and deterministic. Showing is elsewhere.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use model::{Better, Case, Metric, Run, RunStatus, Trial};
use stats::{Estimate, Interval, Rank};

use crate::confidence::common;
use crate::control::{self, Control, controls};
use crate::run_outcome::Standing;
use crate::verdict::Verdict;
use crate::verdict_sentence::sentence;
use crate::verdict_warnings::warnings;

/// Confidence of every interval, where there are enough values for it.
pub const CONFIDENCE: f64 = 0.95;

/// Valid trials that a case needs before anything is said about it.
pub const TRIALS_ENOUGH: usize = stats::VALUES_MIN;

/// What a run says.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The cases, in the order of the run.
    pub cases: Vec<CaseJudgement>,
    /// Every case but the baseline, compared with the baseline, in the order of the run.
    pub comparisons: Vec<Comparison>,
    /// Index of the case that is better than all others that are ranked, and so has the first rank
    /// to itself.
    pub winner: Option<usize>,
    /// Cases that are the same as others, and must tie with them.
    pub controls: Vec<Control>,
    /// One sentence that can be quoted.
    pub verdict: String,
    /// What a reader must know before believing the figures.
    pub warnings: Vec<String>,
}

/// What the trials of one case say.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseJudgement {
    /// Name of the case.
    pub name: String,
    /// Trials that count.
    pub valid: usize,
    /// Trials that ran and do not count.
    pub invalid: usize,
    /// Trials that did not run to their end.
    pub failed: usize,
    /// Median over the valid trials, in the run's metric.
    pub median: Option<f64>,
    /// Interval of the median.
    pub interval: Option<Interval>,
    /// The ranks that it may have among the cases that are no controls: two of them that cannot be
    /// told apart have one in common.
    pub rank: Option<Rank>,
    /// Whether it is a negative control: it is not ranked, and can neither win nor lose.
    pub is_control: bool,
}

impl Judgement {
    /// How sure the intervals of all medians are, at least.
    pub(crate) fn confidence(&self) -> f64 {
        common(self.cases.iter().filter_map(|case| case.interval))
    }
}

impl CaseJudgement {
    /// All trials.
    pub fn trials(&self) -> usize {
        self.valid + self.invalid + self.failed
    }
}

/// One case against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the case.
    pub case: String,
    /// Index of the case in the run.
    pub case_index: usize,
    /// The case's median over the baseline's; only together with its interval.
    pub ratio: Option<Ratio>,
    /// The ratio of the medians where there is no interval: of figures that were imported, which
    /// others have published as they are. It names no winner.
    pub bare_ratio: Option<f64>,
    /// What it says.
    pub verdict: Verdict,
}

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

/// Judges a run.
pub fn judge(run: &Run) -> Judgement {
    let controls = controls(run);
    let cases = judge_cases(run, &controls);
    let comparisons = compare(run, &cases);
    let is_first = |case: &CaseJudgement| case.rank.is_some_and(Rank::is_first);
    let winner = cases.iter().position(is_first);
    let said = sentence(run, &cases, &comparisons, winner.map(|index| &cases[index]));
    let mut warnings = warnings(run, &cases);
    warnings.extend(control::warnings(run, &controls));
    Judgement {
        verdict: said + &control::sentence(run, &controls),
        warnings,
        controls,
        cases,
        comparisons,
        winner,
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

fn valid_values(case: &Case) -> Vec<f64> {
    case.trials.iter().filter_map(Trial::valid_value).collect()
}

fn judge_cases(run: &Run, controls: &[Control]) -> Vec<CaseJudgement> {
    let cases = run.cases.iter().enumerate().map(|(index, case)| {
        let count = |counts: fn(Standing<'_>) -> bool| {
            let standings = case.trials.iter().map(Standing::of);
            standings.filter(|standing| counts(*standing)).count()
        };
        let values = valid_values(case);
        CaseJudgement {
            name: case.plan.name.clone(),
            valid: count(|standing| standing.is_valid()),
            invalid: count(|standing| matches!(standing, Standing::Invalid(_))),
            failed: count(|standing| matches!(standing, Standing::Failed(_))),
            median: stats::median(&values).filter(|median| median.is_finite()),
            interval: stats::median_interval(&values, CONFIDENCE),
            rank: None,
            is_control: controls.iter().any(|it| it.case_index == index),
        }
    });
    let mut cases: Vec<CaseJudgement> = cases.collect();
    rank(run, &mut cases);
    cases
}

/// Ranks the cases that can be ranked: every one is compared with every other.
fn rank(run: &Run, cases: &mut [CaseJudgement]) {
    if is_emulated(run) {
        return;
    }
    let is_ranked = |index: &usize| cases[*index].interval.is_some() && !cases[*index].is_control;
    let ranked: Vec<usize> = (0..cases.len()).filter(is_ranked).collect();
    let ranks = stats::ranks(ranked.len(), |one, other| {
        let ratio = ratio(run, ranked[one], ranked[other]);
        match ratio.map(|ratio| verdict(run.metric, ratio)) {
            Some(Verdict::Faster) => Ordering::Greater,
            Some(Verdict::Slower) => Ordering::Less,
            _ => Ordering::Equal,
        }
    });
    for (index, rank) in ranked.into_iter().zip(ranks) {
        cases[index].rank = Some(rank);
    }
}

fn compare(run: &Run, cases: &[CaseJudgement]) -> Vec<Comparison> {
    let Some(baseline) = baseline_index(run) else {
        return Vec::new();
    };
    let others = (0..run.cases.len()).filter(|index| *index != baseline);
    others
        .map(|case_index| {
            let ratio = if is_emulated(run) {
                None
            } else {
                ratio(run, case_index, baseline)
            };
            Comparison {
                baseline: run.baseline.clone(),
                case: run.cases[case_index].plan.name.clone(),
                case_index,
                ratio,
                bare_ratio: bare_ratio(run, &cases[case_index], &cases[baseline]),
                verdict: match ratio {
                    _ if is_emulated(run) => Verdict::Emulated,
                    Some(it) => verdict(run.metric, it),
                    None => Verdict::Undecided,
                },
            }
        })
        .collect()
}

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

/// The ratio of two medians that have no interval because they were imported.
fn bare_ratio(run: &Run, case: &CaseJudgement, baseline: &CaseJudgement) -> Option<f64> {
    let ratio = case.median? / baseline.median?;
    let alone = case.valid.min(baseline.valid) < TRIALS_ENOUGH;
    (run.status == RunStatus::Imported && alone && ratio.is_finite()).then_some(ratio)
}
