//! Benchmarks: performance claims as ratios against a limit or a peer measured in the same run.

mod bind;
pub mod command;
mod experiment;
mod inspect;
mod latency;
mod logical_reads;
mod parallel_scan;
mod postgres;
mod release_binary;
mod relocate;
