//! Runs a plan: rounds of trials in random order until the result is precise enough.

#[cfg(test)]
mod alternation_tests;
mod observers;
mod order;
mod pace;
#[cfg(test)]
mod recorded_noise_tests;
mod request;
mod room;
mod runner;
#[cfg(test)]
mod runner_tests;
mod same_number;
mod stop_rule;
#[cfg(test)]
pub(crate) mod test_plans;

pub use request::{RunError, RunRequest, TRIALS_MIN};
pub use runner::execute;
pub use stop_rule::CONFIDENCE;
