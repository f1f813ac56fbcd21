//! Pure arithmetic on samples: medians, honest intervals, ranks, steadiness, seeded order.
//!
//! No effects and no types of numalab: everything takes slices of `f64` and returns numbers.
//! Functions that cannot answer (too few values, NaN, infinity) return `None`; none panics.
#![forbid(unsafe_code)]

mod bootstrap;
mod comparison;
mod generator;
mod interval;
mod order_statistics;
mod percentile;
mod proportion;
mod quantile;
mod ranks;
mod round_ratio;
mod split;
mod steady;

pub use bootstrap::ratio_interval;
pub use comparison::{ratio_of_cases, ratio_of_pairs};
pub use generator::Generator;
pub use interval::{Interval, VALUES_MIN};
pub use order_statistics::median_interval;
pub use percentile::{expanded_tail, student_t_quantile};
pub use proportion::proportion_interval;
pub use quantile::{mad, median, quantile};
pub use ranks::{Rank, ranks};
pub use round_ratio::{Estimate, ratio_by_rounds};
pub use split::{Split, split};
pub use steady::is_steady;
