//! Benchmarks: performance claims as ratios against a limit or a peer measured in the same run.

mod bandwidth;
mod bind;
mod claims;
pub(crate) mod command;
mod first_touch;
mod harness;
mod holder;
mod huge_pages;
mod inspect;
mod latency;
mod logical_reads;
mod matrix_time;
mod parallel_scan;
mod postgres;
mod relocate;
mod relocate_stall;
mod start_up;
mod supervisor;
mod turns;
mod verdict;
mod watch;
