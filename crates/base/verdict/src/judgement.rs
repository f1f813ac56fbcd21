//! Judges a run: each case, the comparisons, and the winner.
//!
//! Pure and deterministic. Other crates say it in words.

use model::{Run, RunStatus};
use stats::Rank;

use crate::cases::{CaseJudgement, Comparison, are_of_rounds, compare, judge_cases};
use crate::confidence::common;
use crate::control::{Control, controls};
use crate::ratio::merit;

/// The judgement of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The cases, in the order of the run.
    pub cases: Vec<CaseJudgement>,
    /// Each case other than the baseline, compared with the baseline, in the order of the run.
    pub comparisons: Vec<Comparison>,
    /// Index of the case that is better than all other ranked cases, and so holds the first rank
    /// alone.
    pub winner: Option<usize>,
    /// Whether figures are means of rounds, because the windows of all cases alternated; else they
    /// are medians of trials.
    pub is_of_rounds: bool,
    /// Cases that repeat others and must tie with them.
    pub controls: Vec<Control>,
}

impl Judgement {
    /// Returns the minimum confidence of the intervals of all medians.
    pub fn confidence(&self) -> f64 {
        common(self.cases.iter().filter_map(|case| case.shown_interval))
    }
}

/// Judges a run.
pub fn judge(run: &Run) -> Judgement {
    let controls = controls(run);
    let cases = judge_cases(run, &controls);
    let comparisons = compare(run);
    let is_first = |case: &CaseJudgement| case.rank.is_some_and(Rank::is_first);
    let winner = cases.iter().position(is_first);
    Judgement {
        is_of_rounds: are_of_rounds(run),
        controls,
        cases,
        comparisons,
        winner,
    }
}

/// Returns the indices of the cases by their figures, with unranked cases after the others and
/// controls last. Without any ranks, keeps the order of the run, except that imported figures are
/// sorted.
pub fn order(run: &Run, judgement: &Judgement) -> Vec<usize> {
    let mut order: Vec<usize> = (0..judgement.cases.len()).collect();
    let cases = &judgement.cases;
    if cases.iter().any(|case| case.rank.is_some()) || run.status == RunStatus::Imported {
        order.sort_by(|a, b| {
            let apart = |index: &usize| (cases[*index].is_control, cases[*index].rank.is_none());
            let merit = |index: &usize| {
                let median = cases[*index].shown;
                median.map_or(f64::NEG_INFINITY, |median| merit(run.metric, median))
            };
            let by_merit = merit(b).total_cmp(&merit(a));
            apart(a).cmp(&apart(b)).then(by_merit)
        });
    }
    order
}
