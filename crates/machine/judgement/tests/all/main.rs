//! What is found wrong with captured and damaged machines.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod findings;
mod latencies;
mod mutated_files;
mod placements;
mod table;
