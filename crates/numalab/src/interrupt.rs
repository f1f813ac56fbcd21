//! Ctrl-C, SIGTERM and SIGHUP: a request to stop, checked between and during trials.

use std::sync::Arc;

use experiment::Cancel;
use model::exit::ExitCode;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// Makes Ctrl-C, SIGTERM and SIGHUP set the returned flag.
pub(crate) fn cancel_on_signals() -> Result<Cancel, Failure> {
    let raised = Arc::default();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&raised)).map_err(|error| {
            let message = format!("cannot listen for signal {signal}: {error}");
            Failure::new(ExitCode::Bug, message)
        })?;
    }
    Ok(Cancel::from_flag(raised))
}
