//! `numalab export`: writes the trials of stored runs as a Parquet file.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use export::Table;
use model::exit::ExitCode;
use model::{Run, counted};
use store::{Store, Stored};

use crate::failure::Failure;
use crate::files::named_store::StoreArguments;
use crate::files::requested_files;
use crate::output;

/// Options of `numalab export`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true)))]
pub(crate) struct ExportArguments {
    /// Run ids or prefixes; `last` is the newest run with trials.
    #[arg(value_name = "RUN", group = "which")]
    pub runs: Vec<String>,
    /// Every run of an experiment that has ended.
    #[arg(long, group = "which")]
    pub all: bool,
    /// File to write: a row for each trial.
    #[arg(long, value_name = "FILE")]
    pub parquet: PathBuf,
    /// The store.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Writes the file.
pub(crate) fn run(arguments: &ExportArguments) -> Result<(), Failure> {
    requested_files::check_writable(Some(&arguments.parquet))?;
    let store = Store::open_existing(arguments.store.place()?)?;
    let (mut runs, mut others) = (0_usize, 0_usize);
    let mut table = Table::begin(Vec::new()).map_err(unwritten)?;
    let mut add = |run: &Run| -> Result<(), Failure> {
        runs += 1;
        table.add(run).map_err(unwritten)
    };
    if arguments.all {
        for stored in store.runs(true)? {
            match store.load_any(&stored.id)? {
                Stored::Run(run) => add(&run)?,
                Stored::Live(_) => others += 1,
            }
        }
    }
    for asked in &arguments.runs {
        add(&store.load(asked)?)?;
    }
    let (bytes, rows) = table.finish().map_err(unwritten)?;
    requested_files::write(&arguments.parquet, bytes)?;
    let others = match others {
        0 => String::new(),
        _ => format!(
            "; left out, as they have no trials: {}",
            counted(others, "run")
        ),
    };
    let (rows, runs) = (counted(rows, "trial"), counted(runs, "run"));
    let file = arguments.parquet.display();
    output::talk(&format!("wrote {file}: {rows} of {runs}{others}"));
    Ok(())
}

fn unwritten(error: impl std::fmt::Display) -> Failure {
    Failure::new(ExitCode::Bug, format!("cannot write Parquet: {error}"))
}
