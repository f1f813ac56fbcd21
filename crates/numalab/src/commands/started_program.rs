//! A program that numalab started and stays beside: its signals are forwarded, and numalab ends as
//! it ended, or as a shell does if it cannot be started.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use linux::child::{self, Child, ChildEvent};
use linux::group_witness::GroupWitness;
use linux::signal_queue::SignalQueue;
use model::exit::ExitCode;

use crate::failure::Failure;
use crate::output;

/// Exit status for a program that does not exist, and for one that cannot be executed, as in shells
/// (POSIX, "Exit Status for Commands").
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// `SIGCHLD` and `SIGCONT` on every architecture that numalab runs on (signal(7)).
const CHILD: i32 = 17;
const CONTINUE: i32 = 18;

/// What numalab does beside the program.
pub(super) trait Companion {
    /// Returns the time until there is something to do.
    fn due_in(&self) -> Duration;

    /// Does what is due.
    fn tick(&mut self) -> Result<(), Failure>;
}

/// Exits as a shell does if it cannot start a program. Its exit codes are not numalab's, so this
/// never returns.
pub(super) fn end_unstarted(command: &[OsString], error: &io::Error) -> Failure {
    let program = command
        .first()
        .map(|word| word.to_string_lossy().into_owned());
    let program = program.unwrap_or_default();
    output::talk(&format!("numalab: cannot start {program}: {error}"));
    let status = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    };
    std::process::exit(i32::from(status))
}

/// Ends this process as the program ended; returns if it has not.
pub(super) fn end_as(end: ChildEvent) {
    match end {
        ChildEvent::Killed(signal) => {
            child::end_by_signal(signal);
            std::process::exit(128 + signal)
        }
        ChildEvent::Exited(status) => std::process::exit(i32::from(status)),
        ChildEvent::Stopped(_) | ChildEvent::Continued => {}
    }
}

/// Waits for the program to end; meanwhile forwards signals and lets the companion do its work.
pub(super) fn follow(
    child: &Child,
    queue: &SignalQueue,
    witness: &mut GroupWitness,
    companion: &mut impl Companion,
) -> Result<ChildEvent, Failure> {
    let lost = |error: io::Error| {
        Failure::new(
            ExitCode::Bug,
            format!("cannot wait for the program: {error}"),
        )
    };
    let own = std::process::id();
    loop {
        while let Some(event) = child.event().map_err(lost)? {
            match event {
                ChildEvent::Exited(_) | ChildEvent::Killed(_) => return Ok(event),
                ChildEvent::Stopped(_) => {
                    // Stop too, so that the shell sees its job stopped. When numalab is continued,
                    // continue the program.
                    child::stop_this_process();
                    child.signal(CONTINUE);
                }
                ChildEvent::Continued => {}
            }
        }
        match queue.next(companion.due_in()).map_err(lost)? {
            None => companion.tick()?,
            Some(signal) if signal.number == CHILD => {}
            // Do not deliver a signal twice: those of the terminal come from the kernel, which
            // sends them to the program as well, and a signal to the whole process group reaches
            // it, too.
            Some(signal) => {
                let from_outside = |sender| sender != own && sender != child.pid();
                if signal.sender.is_some_and(from_outside) && !witness.saw(signal) {
                    child.signal(signal.number);
                }
            }
        }
    }
}
