//! One plan for memory that lies wrong: a model of the target, the cures that could be given, and
//! the one that is best (docs/doctor.md); and what placements would mean (docs/predict.md).

mod applied;
mod candidates;
mod diagnosis;
mod patient;
#[cfg(test)]
mod plan_tests;
mod prediction;
#[cfg(test)]
mod prediction_tests;
mod steps;
mod verification;

pub use diagnosis::{diagnose, measure_rate};
pub use prediction::{Wish, predict};
pub use verification::in_force;
