//! What is said of negative controls.

use model::Run;
use verdict::{Control, Verdict};

use crate::run::figures::RatioText;

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
