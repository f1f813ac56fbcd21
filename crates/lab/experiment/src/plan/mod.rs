//! Resolves a definition on a machine: the cases that can run there, and why others cannot.

mod alternation;
mod cannot;
mod case_plan;
mod command;
mod cpu_choice;
mod first_questions;
mod host;
mod kernel;
mod memory;
mod needs;
mod notes;
mod own_memory;
mod placement;
mod places;
mod planner;
mod processor_caches;
#[cfg(test)]
pub(crate) mod test_hosts;
mod work;

pub use alternation::{alternation_obstacle, long_windows};
pub(crate) use alternation::{needs_long_windows, share_memory};
pub use cannot::{Cannot, SkippedCase};
pub use first_questions::shipped_in_order;
pub use host::{Host, Support};
pub use planner::{Plan, plan};
