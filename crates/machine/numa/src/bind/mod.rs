//! Placing a program as numactl does: what is asked for, what is doubtful about it, carrying it
//! out, and what came of it (docs/placing.md).

mod choice;
mod error;
mod judge;
mod lint;
mod look;
mod machine;
mod order;
mod put;

pub use choice::{Choice, ChoiceError, Device, DeviceName, Universe};
pub use error::BindError;
pub use judge::contradictions;
pub use lint::{LINTS, Subject, lints};
pub use look::{Look, look};
pub use machine::Machine;
pub use order::{CpuRequest, MemoryRequest, Order, Request};
pub use put::{InForce, Saved, apply};
