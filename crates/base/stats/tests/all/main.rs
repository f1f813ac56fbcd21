//! What the intervals promise, simulated: one file for each kind of comparison.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod coverage;
mod likeness;
mod peeking;
mod records;
mod rounds;
mod wandering;
