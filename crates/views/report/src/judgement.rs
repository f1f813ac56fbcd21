//! Decides what a run says: each case, the comparisons, the winner, the verdict and the warnings.
//!
//! Pure and deterministic. Showing is elsewhere.

use model::Run;
use stats::Rank;

use crate::confidence::common;
use crate::control::{self, Control, controls};
use crate::judgement_cases::{CaseJudgement, Comparison, compare, judge_cases};
use crate::verdict_sentence::sentence;
use crate::verdict_warnings::warnings;

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

impl Judgement {
    /// How sure the intervals of all medians are, at least.
    pub(crate) fn confidence(&self) -> f64 {
        common(self.cases.iter().filter_map(|case| case.interval))
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
