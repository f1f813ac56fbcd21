//! The store of runs, from outside: one file for each promise.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is how a test fails, a line how a child answers"
)]

mod arbitrary;
mod homes;
mod small_run;

mod hostile_files;
mod live;
mod lookup;
mod processes;
mod released;
mod round_trip;
mod servers;
mod transfer;
