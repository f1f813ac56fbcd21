//! Judgement: what is wrong with a machine and with the memory of a database on it, what its
//! latencies say of it, and whether it is fit to be measured.
#![forbid(unsafe_code)]

pub mod doctor;
pub mod findings;
pub mod fitness;
mod found;
pub mod hops;
mod inputs;
pub mod neighbours;
pub mod plan;

pub use inputs::{BandwidthInput, BindInput, LatencyInput};
