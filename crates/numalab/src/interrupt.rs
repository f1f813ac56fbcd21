//! Ctrl-C, SIGTERM and SIGHUP: a request to stop, checked between and during trials.

use experiment::Cancel;
use model::exit::ExitCode;

use crate::failure::Failure;

/// Makes Ctrl-C, SIGTERM and SIGHUP set the returned flag.
pub(crate) fn cancel_on_signals() -> Result<Cancel, Failure> {
    let cancel = Cancel::new();
    let flag = cancel.clone();
    ctrlc::set_handler(move || flag.cancel()).map_err(|error| {
        Failure::new(ExitCode::Bug, format!("cannot listen for Ctrl-C: {error}"))
    })?;
    Ok(cancel)
}
