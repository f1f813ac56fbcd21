//! One plan for memory that lies wrong: a model of the target, the cures that could be given, and
//! the one that is best (docs/doctor.md); and what placements would mean (docs/predict.md).

#[cfg(test)]
mod answer_key_tests;
mod applied;
mod candidate;
mod candidates;
mod cpus_to_memory;
#[cfg(test)]
mod cure_tests;
mod diagnosis;
mod on_cpus;
mod patient;
#[cfg(test)]
mod plan_tests;
mod prediction;
#[cfg(test)]
mod prediction_tests;
mod steps;
mod verification;
mod weights;

pub use diagnosis::{diagnose, diagnose_for, measure_rate};
pub use prediction::{Wish, predict};
pub use verification::in_force;
