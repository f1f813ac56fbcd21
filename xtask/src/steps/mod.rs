//! `cargo xtask test` and `cargo xtask check`: a table of steps, run in order, counted at the end.

mod cargo;
mod guests;
mod report;
mod step;
mod table;
mod unit;

pub(crate) mod command;
