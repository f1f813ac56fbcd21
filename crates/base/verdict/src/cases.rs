//! Judges the trials of each case: counts, median, interval, rank, and the comparison with the
//! baseline.
//!
//! Pure and deterministic, like the judgement that it belongs to.

use std::cmp::Ordering;

use model::{Case, Metric, Run, Trial};
use stats::{Interval, Rank};

use crate::confidence::CONFIDENCE;
use crate::control::Control;
use crate::cost::cpu_ns_per_read;
use crate::ratio::{
    Ratio, bare_ratio, baseline_index, have_alternated, is_emulated, is_load_sweep, ratio,
    ratio_of, verdict,
};
use crate::standing::Standing;
use crate::verdict::Verdict;

/// Minimum number of valid trials of a case for a conclusion about it.
pub const TRIALS_ENOUGH: usize = stats::VALUES_MIN;

/// The judgement of the trials of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseJudgement {
    /// Name of the case.
    pub name: String,
    /// Trials that count.
    pub valid: usize,
    /// Trials that ran and do not count.
    pub invalid: usize,
    /// Trials that did not finish.
    pub failed: usize,
    /// Median over the valid trials, in the run's metric.
    pub median: Option<f64>,
    /// Interval of the median.
    pub interval: Option<Interval>,
    /// What texts show of it: the median, or the mean of its rounds ([`Judgement::is_of_rounds`]).
    ///
    /// [`Judgement::is_of_rounds`]: crate::Judgement::is_of_rounds
    pub shown: Option<f64>,
    /// Interval of what is shown.
    pub shown_interval: Option<Interval>,
    /// Its possible ranks among the cases that are not controls: two cases that tie share at least
    /// one rank.
    pub rank: Option<Rank>,
    /// Whether it is a negative control, which is not ranked and can neither win nor lose.
    pub is_control: bool,
}

impl CaseJudgement {
    /// Returns the number of all trials.
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
    /// The case's median over the baseline's, only together with its interval.
    pub ratio: Option<Ratio>,
    /// The ratio of the medians of imported figures that have no interval. It does not determine a
    /// winner.
    pub bare_ratio: Option<f64>,
    /// CPU time per logical read, as a multiple of the baseline's, with its interval: below 1 is
    /// less. Placement shows in it, and other programs hardly do.
    pub cost: Option<Ratio>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Judges each case, and ranks those that are not controls.
pub(crate) fn judge_cases(run: &Run, controls: &[Control]) -> Vec<CaseJudgement> {
    let of_rounds = are_of_rounds(run);
    let cases = run.cases.iter().enumerate().map(|(index, case)| {
        let count = |counts: fn(Standing<'_>) -> bool| {
            let standings = case.trials.iter().map(Standing::of);
            standings.filter(|standing| counts(*standing)).count()
        };
        let values = valid_values(case);
        let median = stats::median(&values).filter(|median| median.is_finite());
        let interval = stats::median_interval(&values, CONFIDENCE);
        let (shown, shown_interval) = match of_rounds {
            true => mean_of_rounds(&values),
            false => (median, interval),
        };
        CaseJudgement {
            name: case.plan.name.clone(),
            valid: count(|standing| standing.is_valid()),
            invalid: count(|standing| matches!(standing, Standing::Invalid(_))),
            failed: count(|standing| matches!(standing, Standing::Failed(_))),
            median,
            interval,
            shown,
            shown_interval,
            rank: None,
            is_control: controls.iter().any(|it| it.case_index == index),
        }
    });
    let mut cases: Vec<CaseJudgement> = cases.collect();
    rank(run, &mut cases);
    cases
}

/// Whether the windows of all cases alternated: then ratios are of rounds, and so are figures.
pub(crate) fn are_of_rounds(run: &Run) -> bool {
    let mut trials = run.cases.iter().flat_map(|case| &case.trials);
    trials.any(|trial| trial.valid_value().is_some()) && run.cases.iter().all(have_alternated)
}

/// The geometric mean of the rounds of a case, of which the ratios of cases that alternated are the
/// quotients, and its interval.
pub(crate) fn mean_of_rounds(values: &[f64]) -> (Option<f64>, Option<Interval>) {
    let mean = (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp();
    let rounds: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
    let ones = vec![Some(1.0); values.len()];
    let estimate = stats::ratio_of_pairs(&rounds, &ones, CONFIDENCE);
    let interval = estimate.map(|it| it.interval);
    (Some(mean).filter(|mean| mean.is_finite()), interval)
}

/// Ranks the cases that can be ranked, by comparing each with every other.
fn rank(run: &Run, cases: &mut [CaseJudgement]) {
    if is_emulated(run) || is_load_sweep(run) {
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

/// Compares each other case with the baseline.
pub(crate) fn compare(run: &Run) -> Vec<Comparison> {
    let Some(baseline) = baseline_index(run).filter(|_| !is_load_sweep(run)) else {
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
                bare_ratio: bare_ratio(run, &run.cases[case_index], &run.cases[baseline])
                    .filter(|_| ratio.is_none()),
                cost: cost(run, case_index, baseline),
                verdict: match ratio {
                    _ if is_emulated(run) => Verdict::Emulated,
                    Some(it) => verdict(run.metric, it),
                    None => Verdict::Undecided,
                },
            }
        })
        .collect()
}

/// Returns the ratio of CPU times per logical read.
pub fn cost(run: &Run, case: usize, baseline: usize) -> Option<Ratio> {
    let (case, baseline) = (&run.cases[case], &run.cases[baseline]);
    let is_known = !is_emulated(run) && run.metric == Metric::LogicalReadsPerSecond;
    is_known.then(|| ratio_of(run, case, baseline, cpu_ns_per_read))?
}

fn valid_values(case: &Case) -> Vec<f64> {
    case.trials.iter().filter_map(Trial::valid_value).collect()
}
