//! `numalab import`: stores reports of other programs as a run.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{Args, Subcommand};
use import::ReportedCase;
use linux::TextFile;
use model::exit::ExitCode;
use model::{LoadReport, Run};
use serde_json::json;
use store::Store;

use super::import_csv::{self, ImportCsvArguments};
use super::imported::{FILE_BYTES_MAX, Imported, baseline};
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::measuring::run_id;
use crate::output;

/// Options of `numalab import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Format of the reports.
    #[command(subcommand)]
    pub format: ImportFormat,
}

/// The formats that can be imported.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportFormat {
    /// Import AWR reports in HTML or text, or Statspack reports.
    ///
    /// Each file becomes a case, each report in it a trial. Prints the id of the run for show,
    /// compare and explain. An excerpt must contain the load profile; what a report does not state
    /// stays unknown.
    #[command(
        after_help = "Example: numalab import awr --case local=l1.txt --case local=l2.txt \
                      --case remote=r.txt"
    )]
    Awr(ImportAwrArguments),
    /// Import figures that others measured, from a table (CSV).
    ///
    /// Each row is a trial: the name of its case, and its figure. The run is judged like one of
    /// numalab's own, with intervals and ties; machine, placement and evidence stay unknown. Five
    /// trials of a case give an interval.
    #[command(
        after_help = "Example: numalab import csv sysbench.csv --figure-column tps --unit tps"
    )]
    Csv(ImportCsvArguments),
}

/// Options of `numalab import awr`.
#[derive(Debug, Args)]
pub(crate) struct ImportAwrArguments {
    /// Report files; each becomes a case, named after the file without its extension.
    #[arg(value_name = "FILE", required_unless_present = "cases")]
    pub files: Vec<String>,
    /// Add the reports in this file to this case; may be repeated.
    #[arg(long = "case", value_name = "NAME=FILE")]
    pub cases: Vec<String>,
    /// Case to compare the others with [default: the first].
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Elapsed seconds of reports that do not state them.
    #[arg(long, value_name = "S", value_parser = crate::arguments::values::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub elapsed: Option<f64>,
    /// Print JSON (numalab.import/1).
    #[arg(long)]
    pub json: bool,
}

/// Imports files of one format.
pub(crate) fn run(arguments: &ImportArguments) -> Result<(), Failure> {
    let imported = match &arguments.format {
        ImportFormat::Awr(arguments) => read_awr(arguments)?,
        ImportFormat::Csv(arguments) => import_csv::read(arguments)?,
    };
    let state = StateFolder::from_environment()?;
    let mut store = Store::open(&state.store())?;
    let now = jiff::Zoned::now();
    let id = run_id::claim(&mut store, &now)?;
    let run = (imported.of)(id, run_id::rfc_3339(&now));
    store.insert(&run)?;
    say_what_was_read(&run, imported.trials);
    if imported.json {
        return output::json(&json!({ "format": "numalab.import/1", "run": run.id }));
    }
    output::data(&format!("{}\n", run.id))
}

fn read_awr(arguments: &ImportAwrArguments) -> Result<Imported, Failure> {
    let cases = cases(arguments)?;
    let names = cases.iter().map(|case| case.name.clone()).collect();
    let baseline = baseline(arguments.baseline.as_deref(), names)?;
    Ok(Imported {
        of: Box::new(move |id, at| import::run_of_reports(id, at, baseline, cases)),
        trials: ("report", "reports"),
        json: arguments.json,
    })
}

/// Returns the cases in the order of the command line: one for each file, then the named ones.
fn cases(arguments: &ImportAwrArguments) -> Result<Vec<ReportedCase>, Failure> {
    let mut cases: Vec<ReportedCase> = Vec::new();
    for file in &arguments.files {
        let name = name_of_file(file);
        if cases.iter().any(|case| case.name == name) {
            let message = format!("two files would become the same case: {name}");
            let failure = Failure::new(ExitCode::Usage, message);
            return Err(failure.advise("name them: --case NAME=FILE"));
        }
        let reports = reports(arguments, file)?;
        cases.push(ReportedCase { name, reports });
    }
    for named in &arguments.cases {
        let (name, file) = named.split_once('=').unwrap_or(("", ""));
        if name.is_empty() || file.is_empty() {
            let message = format!("--case {named}: expected NAME=FILE");
            return Err(Failure::new(ExitCode::Usage, message));
        }
        let reports = reports(arguments, file)?;
        match cases.iter_mut().find(|case| case.name == name) {
            Some(case) => case.reports.extend(reports),
            None => cases.push(ReportedCase {
                name: name.to_owned(),
                reports,
            }),
        }
    }
    Ok(cases)
}

/// Returns the name of a file without its directory and its last extension.
fn name_of_file(file: &str) -> String {
    let stem = Path::new(file).file_stem();
    stem.map_or_else(
        || file.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

fn reports(arguments: &ImportAwrArguments, file: &str) -> Result<Vec<LoadReport>, Failure> {
    let bytes = observed::read_named(file.as_ref(), FILE_BYTES_MAX).map_err(|error| {
        let message = format!("cannot read the report {file}: {error}");
        Failure::new(ExitCode::Usage, message)
    })?;
    // Statements in a report may be in any encoding; what numalab reads of it is ASCII.
    let text = TextFile::new(file, String::from_utf8_lossy(&linux::plain_text(bytes)));
    let mut reports = import::reports_of_file(&text).map_err(|error| {
        let failure = Failure::new(ExitCode::Usage, format!("cannot read the report: {error}"));
        failure.advise("create a text report with awrrpt.sql (report_type text) or spreport.sql")
    })?;
    if let Some(elapsed_s) = arguments.elapsed {
        import::assume_interval(&mut reports, elapsed_s);
    }
    Ok(reports)
}

/// Prints what was read, with its warnings.
fn say_what_was_read(run: &Run, (one, many): (&str, &str)) {
    for case in &run.cases {
        let count = case.trials.len();
        let trials = if count == 1 { one } else { many };
        let is_baseline = case.plan.name == run.baseline;
        let mark = if is_baseline { ", the baseline" } else { "" };
        output::talk(&format!("{}: {count} {trials}{mark}", case.plan.name));
        let warnings = case.trials.iter().flat_map(|trial| &trial.warnings);
        for warning in warnings.collect::<BTreeSet<_>>() {
            output::talk(&format!("  {warning}"));
        }
    }
}
