//! Negative controls: cases with the same request as another case, so that they must tie with it.
//!
//! Any difference of a control is noise of this machine.

use model::{Run, RunStatus};

use crate::ratio::{Ratio, baseline_index, is_emulated, ratio, verdict};
use crate::run_figures::RatioText;
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

/// Returns "the negative control spread-again ties with spread [0.99 to 1.01]"; empty without
/// controls.
pub(crate) fn sentence(run: &Run, controls: &[Control]) -> String {
    let name = |index: usize| &run.cases[index].plan.name;
    let said = controls.iter().filter_map(|control| {
        let ratio = RatioText::of(control.ratio?);
        let (case, of) = (name(control.case_index), name(control.of_index));
        let interval = format!("[{} to {}]", ratio.low, ratio.high);
        Some(match control.verdict {
            Verdict::Tie => format!("; the negative control {case} ties with {of} {interval}"),
            _ => format!(
                "; caution: the negative control {case}, identical to {of}, has {} times its \
                 figure {interval}, so differences of that size are noise of this machine",
                ratio.ratio
            ),
        })
    });
    said.collect()
}

/// Returns a warning for each control that does not tie.
pub(crate) fn warnings(run: &Run, controls: &[Control]) -> Vec<String> {
    let differs = |control: &&Control| matches!(control.verdict, Verdict::Faster | Verdict::Slower);
    let names = controls.iter().filter(differs).map(|control| {
        let name = |index: usize| &run.cases[index].plan.name;
        format!(
            "the negative control {} does not tie with {}, although they are identical: something \
             besides the placement changed during the run, so do not trust differences of that \
             size",
            name(control.case_index),
            name(control.of_index)
        )
    });
    names.collect()
}
