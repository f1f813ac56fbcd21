//! `numalab compare`: compares two stored runs, or two cases of any, or records.

use std::path::PathBuf;

use clap::Args;
use model::Run;
use model::exit::ExitCode;
use report::LicencesCompared;
use store::Store;
use verdict::{RunComparison, Selection};

use crate::commands::compare_records;
use crate::failure::Failure;
use crate::files::licences;
use crate::files::licences::LicenceArguments;
use crate::files::requested_files;
use crate::output;

/// Options of `numalab compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// RUN or RUN:CASE to compare with, or a record: its id, or the label of one or more.
    #[arg(value_name = "FIRST")]
    pub first: String,
    /// RUN or RUN:CASE to compare, or a record. Cases of two runs are matched by name.
    #[arg(value_name = "SECOND")]
    pub second: String,
    /// Exit with code 7 if the second is less than this many times as good as the first.
    ///
    /// The whole interval of the ratio must be below this value; without an interval, the ratio
    /// decides.
    #[arg(long, value_name = "RATIO", value_parser = crate::files::licences::positive)]
    #[arg(allow_negative_numbers = true)]
    pub fail_below: Option<f64>,
    /// Throughput per licence.
    #[command(flatten)]
    pub licences: LicenceArguments,
    /// Write a page with pictures: one file that needs no other; `-` for stdout.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "licence_cores", "core_factor",
        "cores_per_licence", "price"])]
    pub html: Option<PathBuf>,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
    /// Print JSON (numalab.compare/1).
    #[arg(long)]
    pub json: bool,
}

/// Compares two runs.
pub(crate) fn run(arguments: &CompareArguments) -> Result<(), Failure> {
    let store = Store::open_existing(arguments.store.place()?)?;
    let names = [arguments.first.as_str(), arguments.second.as_str()];
    if let Some(records) = compare_records::records(&store, names)? {
        if arguments.html.is_some() || licences::terms(&arguments.licences).is_some() {
            let message = "records have neither a page nor licences";
            return Err(Failure::new(ExitCode::Usage, message)
                .advise("compare them without --html and options of licences"));
        }
        return compare_records::run(&records, names, arguments.json, arguments.fail_below);
    }
    let (first, first_case) = load(&store, &arguments.first)?;
    let (second, second_case) = load(&store, &arguments.second)?;
    let found = verdict::compare_runs(
        Selection {
            run: &first,
            case: first_case.as_deref(),
        },
        Selection {
            run: &second,
            case: second_case.as_deref(),
        },
    );
    let found = found
        .map_err(|reason| Failure::new(ExitCode::Usage, format!("cannot compare: {reason}")))?;
    let licences = match licences::terms(&arguments.licences) {
        Some(terms) => Some(LicencesCompared {
            terms,
            cores: [
                licences::cores(&arguments.licences, &first, 0)?,
                licences::cores(&arguments.licences, &second, 1)?,
            ],
        }),
        None => None,
    };
    if let Some(path) = &arguments.html {
        let view = report::comparison_view(&found, &first, &second);
        requested_files::write_result(path, &page::comparison_page(&view))?;
    } else if arguments.json {
        let document = report::compare_document(&found, licences.as_ref(), arguments.fail_below);
        output::json(&document)?;
    } else {
        let options = output::text_options();
        output::data(&report::comparison_text(
            &found,
            licences.as_ref(),
            &options,
        ))?;
    }
    arguments
        .fail_below
        .map_or(Ok(()), |limit| hold(&found, limit))
}

/// Loads a run by its id, and splits off the name of the case after the colon.
fn load(store: &Store, named: &str) -> Result<(Run, Option<String>), Failure> {
    let (run, case) = match named.split_once(':') {
        Some((run, case)) => (run, Some(case.to_owned())),
        None => (named, None),
    };
    Ok((store.load(run)?, case))
}

/// Fails if a pair is below the limit of `--fail-below`.
fn hold(found: &RunComparison, limit: f64) -> Result<(), Failure> {
    let below: Vec<String> = found
        .pairs
        .iter()
        .filter(|pair| pair.is_below(found.metric, limit))
        .map(|pair| pair.second.case.clone())
        .collect();
    if below.is_empty() {
        return Ok(());
    }
    let message = format!("below {limit} times the first: {}", below.join(", "));
    Err(Failure::new(ExitCode::ComparisonBelow, message))
}
