//! Tries placements on the load of a running target: pairs of windows whose order a coin decides,
//! an interval that may be looked at after each, and everything taken back (docs/try.md).
#![forbid(unsafe_code)]

mod arm;
mod attempt;
mod cpu_time;
mod dosing;
mod error;
mod exporter;
mod live;
mod load;
mod noise;
mod own_counters;
mod planned;
mod record;
mod sample;
mod session;
mod watched;
mod window;

pub use attempt::{Asked, attempt};
pub use dosing::{Given, blocks, changes};
pub use error::Error;
pub use exporter::Exported;
pub use live::{Live, Scene};
pub use load::{Load, judge_by};
pub use noise::{Noise, lead_in_s, noise};
pub use own_counters::{command, file};
/// A placement that is tried.
pub use placement::TargetPlacement as Tried;
pub use planned::{Foreseen, foresee};
pub use record::{Beside, record};
pub use sample::{Halt, Sample, Subject, observe};
pub use session::{Course, Outcome, session};
pub use watched::Watched;
