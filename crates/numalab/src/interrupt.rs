//! Ctrl-C, SIGTERM and SIGHUP: a request to stop, checked between and during trials.

use std::sync::Arc;
use std::thread::{Builder, sleep};
use std::time::Duration;

use experiment::Cancel;
use linux::process::ignores_hang_up;
use model::exit::ExitCode;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// How often a signal is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// After a signal, a command that only shows something ends within this time, be it in the middle.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// Makes Ctrl-C, SIGTERM and SIGHUP set the returned flag. Who starts numalab below nohup(1) wants
/// SIGHUP to stay ignored.
pub(crate) fn cancel_on_signals() -> Result<Cancel, Failure> {
    let raised = Arc::default();
    let hang_up = (!ignores_hang_up()).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up) {
        flag::register(signal, Arc::clone(&raised)).map_err(|error| {
            let message = format!("cannot listen for signal {signal}: {error}");
            Failure::new(ExitCode::Bug, message)
        })?;
    }
    Ok(Cancel::from_flag(raised))
}

/// The same for a command that changes nothing: it also ends when it cannot look at the flag, for
/// example while the reader of its output is stopped. `last` is all that is done then.
pub(crate) fn cancel_and_end_on_signals(last: fn()) -> Result<Cancel, Failure> {
    let cancel = cancel_on_signals()?;
    let raised = cancel.clone();
    let end = move || {
        while !raised.is_cancelled() {
            sleep(LOOK_EVERY);
        }
        sleep(ENDS_WITHIN);
        last();
        std::process::exit(i32::from(ExitCode::Interrupted.number()))
    };
    let started = Builder::new().name("signals".to_owned()).spawn(end);
    started.map_err(|cause| {
        Failure::new(
            ExitCode::MachineCannot,
            format!("cannot start a thread: {cause}"),
        )
    })?;
    Ok(cancel)
}
