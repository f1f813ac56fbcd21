//! `numalab show`: a stored run, judged and rendered anew.

use std::slice;

use experiment::memory;
use model::{Run, Work};
use report::TextOptions;
use store::Store;

use crate::arguments::ShowArguments;
use crate::commands::latency;
use crate::failure::Failure;
use crate::state_folder::StateFolder;
use crate::{output, text_options};

/// Shows one stored run.
pub fn run(arguments: &ShowArguments) -> Result<(), Failure> {
    let store = Store::open_existing(&StateFolder::from_environment()?.store())?;
    let run = store.load(&arguments.run)?;
    if arguments.json {
        return output::json(&report::run_document(&run));
    }
    output::data(&text(&run, &text_options::for_stdout()))
}

/// A run of memory itself by its own view, any other as a comparison of its cases.
pub fn text(run: &Run, options: &TextOptions) -> String {
    let all = |is_one: fn(&Work) -> bool| {
        !run.cases.is_empty() && run.cases.iter().all(|case| is_one(&case.plan.work))
    };
    let is_latency = |work: &Work| {
        matches!(
            work,
            Work::MemoryLatency(_) | Work::DepthCurve(_) | Work::LineTransfers(_)
        )
    };
    let is_bandwidth = |work: &Work| matches!(work, Work::Stream(_) | Work::LoadedLatency(_));
    let runs = slice::from_ref(run);
    if all(is_latency) {
        return latency::text(&memory::latency_result(runs), options);
    }
    match memory::bandwidth_result(runs).filter(|_| all(is_bandwidth)) {
        Some(result) => report::bandwidth_text(&result, options),
        None => report::run_text(run, options),
    }
}
