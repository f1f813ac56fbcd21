//! `numalab explain`: explains why the winner of a stored run won.

use clap::Args;
use linux::TextFile;
use model::NodeMatrix;
use model::exit::ExitCode;
use store::Store;

use crate::failure::Failure;
use crate::output;

/// Maximum size of a file of latencies.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Options of `numalab explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Run id or a prefix of one; `last` is the newest run with trials.
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    /// Case to compare the others with [default: the run's own baseline].
    #[arg(long, value_name = "CASE")]
    pub baseline: Option<String>,
    /// Latencies of the run's machine, from `numalab latency --json` or Intel MLC, to show how much
    /// of the cost of a read is memory latency.
    #[arg(long, value_name = "FILE")]
    pub latency: Option<String>,
    /// Show the parts of each difference, and each case against the next.
    #[arg(long)]
    pub full: bool,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
    /// Print JSON (numalab.explain/1).
    #[arg(long)]
    pub json: bool,
}

/// Explains the differences of one stored run.
pub(crate) fn run(arguments: &ExplainArguments) -> Result<(), Failure> {
    let store = Store::open_existing(arguments.store.place()?)?;
    let run = store.load(&arguments.run)?;
    let latency = arguments.latency.as_deref().map(latency).transpose()?;
    let baseline = arguments.baseline.as_deref();
    if let Some(name) = baseline.filter(|name| run.cases.iter().all(|it| it.plan.name != *name)) {
        let known: Vec<&str> = run.cases.iter().map(|it| it.plan.name.as_str()).collect();
        let known = known.join(", ");
        let message = format!(
            "--baseline {name}: no such case; run {} has {known}",
            run.id
        );
        return Err(Failure::new(ExitCode::Usage, message));
    }
    let found = verdict::explain(&run, baseline, latency.as_ref()).map_err(|reason| {
        let message = format!("cannot explain run {}: {reason}", run.id);
        Failure::new(ExitCode::Usage, message)
    })?;
    if arguments.json {
        return output::json(&report::explain_document(&run, &found));
    }
    let options = output::text_options();
    output::data(&report::explanation_text(
        &run,
        &found,
        arguments.full,
        &options,
    ))
}

/// Reads latencies measured on the machine of the run.
fn latency(path: &str) -> Result<NodeMatrix, Failure> {
    let bytes = observed::read_named(path.as_ref(), FILE_BYTES_MAX).map_err(|error| {
        let message = format!("cannot read the latencies {path}: {error}");
        Failure::new(ExitCode::Usage, message)
    })?;
    let file = TextFile::from_bytes(path.into(), linux::plain_text(bytes));
    let matrix = file.and_then(|file| judgement::hops::matrix_of_file(&file));
    let matrix = matrix.map_err(|error| {
        let message = format!("cannot read the latencies: {error}");
        Failure::new(ExitCode::Usage, message)
    })?;
    Ok(matrix.matrix)
}
