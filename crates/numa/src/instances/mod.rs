//! Instances: which processes a user means, and what each of them does.

mod class;
mod find;
mod target;

pub use class::class_of;
pub use find::{Member, find};
pub use target::{InstanceError, Target};
