//! Benchmarks: performance claims as ratios against a limit or a peer measured in the same run.

mod bandwidth;
mod bandwidth_peers;
mod bind;
mod claims;
pub(crate) mod command;
mod experiment;
mod first_touch;
mod huge_pages;
mod inspect;
mod lat_mem_rd;
mod latency;
mod latency_repeated;
mod levels;
mod logical_reads;
pub(crate) mod own_binary;
mod parallel_scan;
mod plain_chase;
mod postgres;
mod relocate;
mod spread;
mod start_up;
mod supervisor;
mod verdict;
mod verdict_run;
mod watch;
mod window_order;
