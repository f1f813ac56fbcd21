//! `numalab metrics`: one look at this machine and the newest runs, in the text format of
//! Prometheus.

use std::path::PathBuf;

use clap::Args;
use serve::{Observed, RunFigures, metrics_text};

use crate::failure::Failure;
use crate::files::requested_files;
use crate::observation;
use crate::output;
use crate::serving::stored_figures::StoredFigures;

/// Options of `numalab metrics`.
#[derive(Debug, Args)]
pub(crate) struct MetricsArguments {
    /// Write the metrics to a file for node-exporter's textfile collector: beside its place, then
    /// renamed, readable by all [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub textfile: Option<PathBuf>,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
}

/// Writes the metrics.
pub(crate) fn run(arguments: &MetricsArguments) -> Result<(), Failure> {
    let snapshot = observation::only_snapshot()?;
    // The machine's figures are worth as much without those of runs.
    let runs = runs(arguments).inspect_err(|failure| {
        output::talk(&format!("numalab: no metrics of runs: {}", failure.message));
        if let Some(advice) = &failure.advice {
            output::talk(&format!("  hint: {advice}"));
        }
    });
    let text = metrics_text(&Observed {
        version: env!("CARGO_PKG_VERSION"),
        snapshot: &snapshot,
        forecast: &[],
        runs: runs.ok().as_deref(),
        // It ends with this look; and node-exporter, which reads the file, shows its own.
        exporter: None,
    });
    match &arguments.textfile {
        None => output::data(&text),
        Some(path) => requested_files::write_for_all(path, &text),
    }
}

fn runs(arguments: &MetricsArguments) -> Result<Vec<RunFigures>, Failure> {
    Ok(StoredFigures::of_store(arguments.store.place()?).newest()?)
}
