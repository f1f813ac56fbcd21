//! What a machine is: combines the readings of crate linux into a [`Topology`](model::Topology).
//! Judges nothing: passes impossible values on as they were read, and leaves unknown what is
//! missing.
#![forbid(unsafe_code)]

mod caches;
mod contradictions;
mod cores;
mod cpus;
mod distances;
mod gaps;
mod machine;
mod node_cpus;
mod nodes;
mod packages;

pub use machine::{read, read_nodes};
