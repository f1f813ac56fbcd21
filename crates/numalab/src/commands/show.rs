//! `numalab show`: a stored run, judged and rendered anew.

use std::slice;

use experiment::memory;
use model::{Run, Work};
use report::{CaseLicensed, RunDocument, TextOptions};
use serde::Serialize;
use store::Store;

use crate::arguments::ShowArguments;
use crate::commands::latency;
use crate::failure::Failure;
use crate::state_folder::StateFolder;
use crate::{licences, output, text_options};

/// A run's document with what its cases do per licence.
#[derive(Serialize)]
struct WithLicences<'r> {
    #[serde(flatten)]
    document: RunDocument<'r>,
    licences: Vec<CaseLicensed>,
}

/// Shows one stored run.
pub fn run(arguments: &ShowArguments) -> Result<(), Failure> {
    let store = Store::open_existing(&StateFolder::from_environment()?.store())?;
    let run = store.load(&arguments.run)?;
    let options = text_options::for_stdout();
    let licensed = match licences::terms(&arguments.licences) {
        Some(terms) => {
            let cores = licences::cores(&arguments.licences, &run, 0)?;
            Some(report::licensed_cases(&run, &terms, cores))
        }
        None => None,
    };
    match (licensed, arguments.json) {
        (None, true) => output::json(&report::run_document(&run)),
        (Some(licensed), true) => output::json(&WithLicences {
            document: report::run_document(&run),
            licences: licensed,
        }),
        (None, false) => output::data(&text(&run, &options)),
        (Some(licensed), false) => {
            let text = text(&run, &options);
            let licences = report::licences_text(&licensed, &options);
            output::data(&format!("{licences}\n{text}"))
        }
    }
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
