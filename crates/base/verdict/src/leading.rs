//! The leading comparison while a run is in progress; cheap, because it is computed between trials.

use model::{Case, Run, Trial};

use crate::ratio::{Ratio, baseline_index, is_emulated, merit, ratio};

/// Returns the index of the best case so far other than the baseline, and its ratio to the
/// baseline. `None` while there is no interval.
pub fn leading(run: &Run) -> Option<(usize, Ratio)> {
    if is_emulated(run) {
        return None;
    }
    let baseline = baseline_index(run)?;
    let of = &run.cases[baseline].plan;
    let others = run
        .cases
        .iter()
        .enumerate()
        .filter(|(index, case)| *index != baseline && !case.plan.is_same_as(of));
    let medians =
        others.filter_map(|(index, case)| Some((index, merit(run.metric, median(case)?))));
    let (best, _) = medians.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some((best, ratio(run, best, baseline)?))
}

fn median(case: &Case) -> Option<f64> {
    let values: Vec<f64> = case.trials.iter().filter_map(Trial::valid_value).collect();
    stats::median(&values).filter(|median| median.is_finite())
}
