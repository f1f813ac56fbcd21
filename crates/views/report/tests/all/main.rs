//! Tests of texts, documents and judgements, one file for each subject.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

// The strategies belong in the crate `testing` once it supports runs.
#[path = "../../../../lab/store/tests/all/arbitrary/mod.rs"]
mod arbitrary;

mod run_samples;

mod explain_latency;
mod latency_golden;
mod latency_properties;
mod run_golden;
mod run_properties;
mod topology_of_machines;
mod topology_properties;
