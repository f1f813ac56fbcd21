//! The leading comparison while a run is in progress; cheap, because it is computed between trials.

use model::{Case, Run, Trial};

use crate::ratio::{baseline_index, is_emulated, merit, ratio};
use crate::run_figures::RatioText;
use crate::run_plain::plain_within;

/// Maximum width of a name, in columns.
const NAME_COLUMNS: usize = 20;

/// Returns the best case so far other than the baseline, and its ratio to the baseline with the
/// interval: `free 2.26 (1.76 to 2.73)`. `None` while there is no interval.
pub fn leading_comparison(run: &Run) -> Option<String> {
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
    let RatioText { ratio, low, high } = RatioText::of(ratio(run, best, baseline)?);
    let name = plain_within(&run.cases[best].plan.name, NAME_COLUMNS);
    Some(format!("{name} {ratio} ({low} to {high})"))
}

fn median(case: &Case) -> Option<f64> {
    let values: Vec<f64> = case.trials.iter().filter_map(Trial::valid_value).collect();
    stats::median(&values).filter(|median| median.is_finite())
}
