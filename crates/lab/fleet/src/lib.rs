//! Compares machines that should be equal (docs/fleet.md): groups, facts in which one is not as
//! most, and figures by which one is not like the others. Pure: what is compared comes as values.
#![forbid(unsafe_code)]

mod compare;
mod facts;
mod figures;
mod groups;
mod machine;
mod majority;

pub use compare::compare;
pub use facts::Fact;
pub use figures::Figure;
pub use groups::{GroupBy, Racks};
pub use machine::FleetMachine;
