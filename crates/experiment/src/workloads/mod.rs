//! Adapters between the runner and what it measures: the only place that knows both.

mod instance;
mod simulated;

pub use instance::{HeldProcesses, Hold, InstanceWorkload};
pub use simulated::{Behaviour, Outlier, Simulated};
