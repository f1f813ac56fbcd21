//! Experiments: definitions (the question and its cases), plans (a definition resolved on a
//! machine), and the runner that turns a plan into trials. Adapters to the measured engines live in
//! `workloads`.
#![forbid(unsafe_code)]

mod cancel;
mod clock;
pub mod definition;
mod error;
pub mod memory;
mod plan;
mod run;
mod workload;
pub mod workloads;

pub use cancel::Cancel;
pub use clock::{Clock, RealClock, SimulatedClock};
pub use definition::{COST_EXPECTED, CostTable, Definition, SHIPPED, Shipped, find};
pub use error::{Error, KeyError};
pub use plan::{
    Cannot, Host, Plan, SkippedCase, Support, alternation_obstacle, long_windows, plan,
    shipped_in_order,
};
pub use run::{CONFIDENCE, RunError, RunRequest, TRIALS_MIN, execute};
pub use workload::{CalibrationSpec, RoundSpec, TrialSpec, Workload, WorkloadError};
