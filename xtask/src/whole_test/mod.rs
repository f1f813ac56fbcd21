//! `cargo xtask test` and `cargo xtask check`: what is checked before the tests, the tests on this
//! machine and those in guests, and the summary.

mod changed;
pub(crate) mod command;
mod guests;
mod host;
pub(crate) mod kills;
mod packages;
mod plan;
mod program;
mod repeat;
mod said;
mod step;
mod summary;
mod table;
mod turn;
mod verdict;
