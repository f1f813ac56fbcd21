//! The leading comparison while a run is in progress.

use model::Run;

use crate::form::plain::plain_within;
use crate::run::figures::RatioText;

/// Maximum width of a name, in columns.
const NAME_COLUMNS: usize = 20;

/// Returns the best case so far other than the baseline, and its ratio to the baseline with the
/// interval: `free 2.26 (1.76 to 2.73)`. `None` while there is no interval.
pub fn leading_comparison(run: &Run) -> Option<String> {
    let (best, ratio) = verdict::leading(run)?;
    let RatioText { ratio, low, high } = RatioText::of(ratio);
    let name = plain_within(&run.cases[best].plan.name, NAME_COLUMNS);
    Some(format!("{name} {ratio} ({low} to {high})"))
}
