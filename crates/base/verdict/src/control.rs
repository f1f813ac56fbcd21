//! Negative controls: cases with the same request as another case, so that they must tie with it.
//!
//! Any difference of a control is noise of this machine.

use model::{Run, RunStatus};

use crate::ratio::{Ratio, baseline_index, is_emulated, ratio, verdict};
use crate::verdict::Verdict;

/// A case with the same request as another.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// Index of the control in the run.
    pub case_index: usize,
    /// Index of the case that it repeats.
    pub of_index: usize,
    /// The control's median over the other's, with its interval.
    pub ratio: Option<Ratio>,
    /// The verdict, which should be a tie.
    pub verdict: Verdict,
}

/// Returns the controls of a run. If only controls would remain to compare with the baseline, they
/// are the question, and the result is empty.
pub(crate) fn controls(run: &Run) -> Vec<Control> {
    if run.status == RunStatus::Imported {
        return Vec::new();
    }
    let baseline = baseline_index(run);
    let found: Vec<(usize, usize)> = (0..run.cases.len())
        .filter(|index| Some(*index) != baseline)
        .filter_map(|index| Some((index, original(run, index, baseline)?)))
        .collect();
    if found.len() + 1 >= run.cases.len() {
        return Vec::new();
    }
    let control = |(case_index, of_index): (usize, usize)| {
        let ratio = ratio(run, case_index, of_index).filter(|_| !is_emulated(run));
        Control {
            case_index,
            of_index,
            ratio,
            verdict: match ratio {
                _ if is_emulated(run) => Verdict::Emulated,
                Some(ratio) => verdict(run.metric, ratio),
                None => Verdict::Undecided,
            },
        }
    };
    found.into_iter().map(control).collect()
}

/// Returns the case that `index` repeats: the baseline, or the first equal case before it.
fn original(run: &Run, index: usize, baseline: Option<usize>) -> Option<usize> {
    let plan = &run.cases[index].plan;
    let alike = |other: &usize| *other != index && run.cases[*other].plan.is_same_as(plan);
    let before = 0..index;
    baseline.into_iter().chain(before).find(alike)
}
