//! Places a program as numactl does: the request, applying it, and verifying the result
//! (docs/placing.md). Warnings about a request are findings of the crate `judgement`.

mod choice;
mod error;
mod judge;
mod look;
mod machine;
mod order;
mod put;

pub use choice::{Choice, ChoiceError, Device, DeviceName, Universe};
pub use error::BindError;
pub use judge::contradictions;
pub use look::{Look, look};
pub use machine::Machine;
pub use order::{CpuRequest, MemoryRequest, Order, Request};
pub use put::{InForce, Saved, apply};
