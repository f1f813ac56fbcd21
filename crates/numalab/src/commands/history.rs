//! `numalab history`: lists the stored runs.

use serde_json::json;
use store::Store;

use crate::arguments::commands::HistoryArguments;
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::output;

/// Lists stored runs, newest first.
pub(crate) fn run(arguments: &HistoryArguments) -> Result<(), Failure> {
    let path = StateFolder::from_environment()?.store();
    let headers = match Store::open_existing(&path) {
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
