//! Judges a run: each case, the comparisons, the winner, the verdict and the warnings.
//!
//! Pure and deterministic. Other modules show the result.

use model::Run;
use stats::Rank;

use crate::confidence::common;
use crate::control::{self, Control, controls};
use crate::judgement_cases::{CaseJudgement, Comparison, compare, judge_cases};
use crate::verdict_sentence::sentence;
use crate::verdict_warnings::warnings;

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
    /// Cases that repeat others and must tie with them.
    pub controls: Vec<Control>,
    /// One quotable sentence.
    pub verdict: String,
    /// Caveats that affect how far the figures can be trusted.
    pub warnings: Vec<String>,
}

impl Judgement {
    /// Returns the minimum confidence of the intervals of all medians.
    pub(crate) fn confidence(&self) -> f64 {
        common(self.cases.iter().filter_map(|case| case.interval))
    }
}

/// Judges a run.
pub fn judge(run: &Run) -> Judgement {
    let controls = controls(run);
    let cases = judge_cases(run, &controls);
    let comparisons = compare(run);
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
