//! Pure arithmetic on samples: medians, honest intervals, ranks, steadiness, seeded order.
//!
//! No effects and no types of numalab: everything takes `f64` and returns numbers.
//! Functions that cannot answer (too few values, NaN, infinity) return `None`; none panics.
#![forbid(unsafe_code)]

mod batch_means;
mod betting;
mod bootstrap;
mod comparison;
mod depletion;
mod dose_response;
mod generator;
mod interval;
mod likeness;
mod percentile;
mod quantile;
mod ranks;
mod round_ratio;
mod split;
mod steady;
mod sweep;
mod warm_up;

pub use batch_means::{Difference, Portion, RecordMean, difference};
pub use betting::{Betting, betting_interval, effect, ln_wealth};
pub use bootstrap::ratio_interval;
pub use comparison::{ratio_of_cases, ratio_of_pairs};
pub use depletion::{Depletion, depletion};
pub use dose_response::DoseResponse;
pub use generator::Generator;
pub use interval::{Interval, VALUES_MIN, median_interval, proportion_interval};
pub use likeness::{Likeness, MEMBERS_MIN, Reading, SPREAD_LEAST, likeness, normal_limit};
pub use quantile::{median, quantile};
pub use ranks::{Rank, ranks};
pub use round_ratio::{Estimate, ratio_by_rounds};
pub use split::{Split, split};
pub use steady::is_steady;
pub use sweep::Sweep;
pub use warm_up::WarmUp;
