//! `numalab show`: judges and renders a stored run again.

use clap::Args;
use std::slice;

use experiment::{SHIPPED, memory};
use model::exit::ExitCode;
use model::{LiveRun, Run, Work};
use report::{Called, CaseLicensed, RunDocument};
use serde::Serialize;
use store::{Store, Stored};

use crate::commands::latency;
use crate::failure::Failure;
use crate::files::licences;
use crate::measuring::run_screen;
use crate::output;

/// A run's document with the throughput per licence of its cases.
#[derive(Serialize)]
struct WithLicences<'r> {
    #[serde(flatten)]
    document: RunDocument<'r>,
    licences: Vec<CaseLicensed>,
}

/// Options of `numalab show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Run id or a prefix of one; `last` is the newest run with trials.
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    /// Throughput per licence.
    #[command(flatten)]
    pub licences: licences::LicenceArguments,
    /// Also print load profile, top events, evidence and every trial of each case.
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
    /// Print JSON (numalab.run/1).
    #[arg(long)]
    pub json: bool,
}

/// Shows one stored run.
pub(crate) fn run(arguments: &ShowArguments) -> Result<(), Failure> {
    let store = Store::open_existing(arguments.store.place()?)?;
    let run = match store.load_any(&arguments.run)? {
        Stored::Run(run) => *run,
        Stored::Live(live) => return show_live(&live, arguments),
    };
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
        (None, false) => output::data(&text(&run, arguments)),
        (Some(licensed), false) => {
            let text = text(&run, arguments);
            let licences = report::licences_text(&licensed, &output::text_options());
            output::data(&format!("{licences}\n{text}"))
        }
    }
}

/// Shows a run of live windows, which has no throughput per licence.
fn show_live(live: &LiveRun, arguments: &ShowArguments) -> Result<(), Failure> {
    if licences::terms(&arguments.licences).is_some() {
        let message = format!("{} ({}) has no cases to license", live.id, live.title());
        return Err(Failure::new(ExitCode::Usage, message));
    }
    match arguments.json {
        true => output::json(&report::live_document(live)),
        false => {
            let options = output::text_options();
            output::data(&report::live_text(live, arguments.full, &options))
        }
    }
}

/// Renders a run that measures memory itself in its own view, any other as a comparison of its
/// cases.
fn text(run: &Run, arguments: &ShowArguments) -> String {
    // A definition may name measuring kernels, too; its cases are compared like any others.
    let all = |is_one: fn(&Work) -> bool| {
        let is_own = !run.cases.is_empty() && memory::names::is_from_topology(run);
        is_own && run.cases.iter().all(|case| is_one(&case.plan.work))
    };
    let is_latency = |work: &Work| {
        matches!(
            work,
            Work::MemoryLatency(_) | Work::DepthCurve(_) | Work::LineTransfers(_)
        )
    };
    let is_bandwidth = |work: &Work| matches!(work, Work::Stream(_) | Work::LoadedLatency(_));
    let runs = slice::from_ref(run);
    let options = output::text_options();
    if all(is_latency) {
        return latency::text(&memory::latency_result(runs), &options);
    }
    if let Some(result) = memory::bandwidth_result(runs).filter(|_| all(is_bandwidth)) {
        return report::bandwidth_text(&result, &options);
    }
    let is_shipped = SHIPPED.iter().any(|it| it.name == run.experiment);
    let called = Called {
        run: arguments.run.clone(),
        again: is_shipped.then(|| run.experiment.clone()),
    };
    let mut screen = run_screen::screen(arguments.full);
    screen.run(run, &called) + &screen.end(&[], &[])
}
