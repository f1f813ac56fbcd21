//! Instances: which processes a user means, and what each of them does.

mod class;
mod error;
mod find;
mod postmaster;
mod target;

pub use class::class_of;
pub use error::InstanceError;
pub use find::{Member, find};
pub use target::{Target, TargetError};
