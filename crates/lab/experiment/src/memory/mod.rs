//! Plans that measure memory itself, derived from the topology instead of a definition, and the
//! results of their runs.

mod bandwidth_plan;
mod bandwidth_result;
mod cache_share;
mod kernel_work;
mod latency_plan;
mod latency_result;
pub mod names;
mod page_choice;
mod places;
mod schedule;
#[cfg(test)]
mod tests;
mod working_set;

pub use bandwidth_plan::{bandwidth_plan, loaded_plan};
pub use bandwidth_result::bandwidth_result;
pub use cache_share::cache_share;
pub use kernel_work::BandwidthChoice;
pub(crate) use kernel_work::{chase, stream_work};
pub use latency_plan::{CurvePairs, check_pairs, curve_plan, latency_plan, transfers_plan};
pub use latency_result::latency_result;
pub use page_choice::{fastest_instructions, largest_pages};
pub use places::MemoryPlaces;
pub(crate) use places::place;
pub use schedule::{StepCosts, matrix_limit_s, matrix_within};
pub use working_set::find_working_set;
