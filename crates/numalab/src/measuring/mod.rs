//! What commands that measure have in common, from the look at the machine to the run.

pub(crate) mod context;
pub(crate) mod counted_work;
pub(crate) mod execution;
pub(crate) mod fitness;
pub(crate) mod host;
pub(crate) mod latency_file;
pub(crate) mod live_store;
pub(crate) mod machine;
pub(crate) mod measured_memory;
pub(crate) mod memory_plans;
pub(crate) mod memory_runs;
pub(crate) mod newest_run;
pub(crate) mod progress;
pub(crate) mod recorded_target;
pub(crate) mod run_id;
pub(crate) mod run_request;
pub(crate) mod run_screen;
pub(crate) mod short_runs;
