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

use crate::failure::Failure;
use crate::state_folder::StateFolder;
use crate::{argument_values, output, run_id};

/// Maximum size of a report; those of busy databases have a few megabytes.
const FILE_BYTES_MAX: u64 = 32 << 20;

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
    /// Import AWR or Statspack reports in text form.
    ///
    /// Each file becomes a case, each report in it a trial. Prints the id of the run for show,
    /// compare and explain. An excerpt must contain the load profile; what a report does not state
    /// stays unknown.
    #[command(
        after_help = "Example: numalab import awr --case local=l1.txt --case local=l2.txt \
                      --case remote=r.txt"
    )]
    Awr(ImportAwrArguments),
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
    #[arg(long, value_name = "S", value_parser = crate::argument_values::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub elapsed: Option<f64>,
    /// Print JSON (numalab.import/1).
    #[arg(long)]
    pub json: bool,
}

/// Imports reports of one format.
pub(crate) fn run(arguments: &ImportArguments) -> Result<(), Failure> {
    let ImportFormat::Awr(arguments) = &arguments.format;
    let cases = cases(arguments)?;
    let baseline = baseline(arguments, &cases)?;
    let state = StateFolder::from_environment()?;
    let mut store = Store::open(&state.store())?;
    let now = jiff::Zoned::now();
    let id = run_id::claim(&mut store, &now)?;
    let run = import::run_of_reports(id, run_id::rfc_3339(&now), baseline, cases);
    store.insert(&run)?;
    say_what_was_read(&run);
    if arguments.json {
        return output::json(&json!({ "format": "numalab.import/1", "run": run.id }));
    }
    output::data(&format!("{}\n", run.id))
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
    let bytes = argument_values::user_file(file, FILE_BYTES_MAX).map_err(|error| {
        let message = format!("cannot read the report {file}: {error}");
        Failure::new(ExitCode::Usage, message)
    })?;
    // Statements in a report may be in any encoding; what numalab reads of it is ASCII.
    let text = TextFile::new(file, String::from_utf8_lossy(&bytes));
    let mut reports = import::reports_of_file(&text).map_err(|error| {
        let failure = Failure::new(ExitCode::Usage, format!("cannot read the report: {error}"));
        failure.advise("create a text report with awrrpt.sql (report_type text) or spreport.sql")
    })?;
    if let Some(elapsed_s) = arguments.elapsed {
        import::assume_interval(&mut reports, elapsed_s);
    }
    Ok(reports)
}

/// Returns the case that others are compared with: the named one, or the first.
fn baseline(arguments: &ImportAwrArguments, cases: &[ReportedCase]) -> Result<String, Failure> {
    let names = || cases.iter().map(|case| case.name.as_str());
    match &arguments.baseline {
        Some(name) if names().any(|known| known == name) => Ok(name.clone()),
        Some(name) => {
            let known = names().collect::<Vec<_>>().join(", ");
            let message = format!("--baseline {name}: no such case; the files have {known}");
            Err(Failure::new(ExitCode::Usage, message))
        }
        None => names()
            .next()
            .map(str::to_owned)
            .ok_or_else(|| Failure::new(ExitCode::Usage, "nothing to import: name a file")),
    }
}

/// Prints what was read, with its warnings.
fn say_what_was_read(run: &Run) {
    for case in &run.cases {
        let count = case.trials.len();
        let reports = if count == 1 { "report" } else { "reports" };
        let is_baseline = case.plan.name == run.baseline;
        let mark = if is_baseline { ", the baseline" } else { "" };
        output::talk(&format!("{}: {count} {reports}{mark}", case.plan.name));
        let warnings = case.trials.iter().flat_map(|trial| &trial.warnings);
        for warning in warnings.collect::<BTreeSet<_>>() {
            output::talk(&format!("  {warning}"));
        }
    }
}
