//! `numalab history`: lists the stored runs.

use clap::Args;
use serde_json::json;
use store::Store;

use crate::failure::Failure;
use crate::output;

/// Options of `numalab history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// Show at most this many runs.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: u32,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
    /// Print JSON (numalab.history/1).
    #[arg(long)]
    pub json: bool,
}

/// Lists stored runs, newest first.
pub(crate) fn run(arguments: &HistoryArguments) -> Result<(), Failure> {
    let headers = match Store::open_existing(arguments.store.place()?) {
        Err(store::Error::NotThere { .. }) => Vec::new(),
        opened => opened?.history(arguments.limit as usize)?,
    };
    if arguments.json {
        return output::json(&json!({ "format": "numalab.history/1", "runs": headers }));
    }
    if headers.is_empty() {
        output::talk("no runs stored yet; run an experiment: numalab run");
        return Ok(());
    }
    output::data(&report::history_text(&headers, &output::text_options()))
}
