//! A program that numalab started and stays beside: its signals are forwarded, and numalab ends as
//! it ended, or as a shell does if it cannot be started.

use std::ffi::OsString;
use std::io;
use std::path::Path;
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

/// Refuses a document that would have no place of its own: stdout and stderr are the program's.
pub(super) fn json_has_a_file(is_json: bool, file: Option<&Path>) -> Result<(), Failure> {
    if !is_json || file.is_some() {
        return Ok(());
    }
    let message = "--json with a COMMAND needs a file: stdout and stderr are the COMMAND's";
    Err(Failure::new(ExitCode::Usage, message).advise("name one: --output FILE"))
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

/// What it takes to follow a program, made before the program: whatever fails then fails before it
/// runs.
#[derive(Debug)]
pub(super) struct Follower {
    // Dropped first: it holds the signals that the queue has blocked.
    witness: GroupWitness,
    queue: SignalQueue,
}

impl Follower {
    /// Queues the signals of this process from now on.
    pub(super) fn prepare() -> Result<Self, Failure> {
        let queue = SignalQueue::new().map_err(|error| {
            Failure::new(ExitCode::Bug, format!("cannot watch signals: {error}"))
        })?;
        let witness = GroupWitness::start().map_err(|error| {
            let message = format!("cannot start a process to watch signals: {error}");
            Failure::new(ExitCode::MachineCannot, message)
        })?;
        Ok(Follower { witness, queue })
    }

    /// Starts the program. If that fails, nothing is left of what was prepared.
    pub(super) fn start(self, command: &[OsString]) -> io::Result<Program> {
        let mut early = Vec::new();
        while let Some(signal) = self.queue.next(Duration::ZERO)? {
            early.push(signal.number);
        }
        let child = Child::start(command, &self.queue)?;
        // What was sent before the program was there is meant for it, too.
        for signal in early.into_iter().filter(|signal| *signal != CHILD) {
            child.signal(signal);
        }
        let follower = self;
        Ok(Program { child, follower })
    }
}

/// A program that was started and is followed.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    follower: Follower,
}

impl Program {
    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Waits for the program to end; meanwhile forwards signals and lets the companion do its work.
    /// A failure of the companion is printed, and the program goes on.
    pub(super) fn follow(mut self, companion: &mut impl Companion) -> Result<Ended, Failure> {
        let lost = |error: io::Error| {
            Failure::new(
                ExitCode::Bug,
                format!("cannot wait for the program: {error}"),
            )
        };
        let Program { child, follower } = &mut self;
        let own = std::process::id();
        let mut failure = None;
        loop {
            while let Some(event) = child.event().map_err(lost)? {
                match event {
                    ChildEvent::Exited(_) | ChildEvent::Killed(_) => {
                        return Ok(Ended { event, failure });
                    }
                    ChildEvent::Stopped(_) => {
                        // Stop too, so that the shell sees its job stopped. When numalab is
                        // continued, continue the program.
                        child::stop_this_process();
                        child.signal(CONTINUE);
                    }
                    ChildEvent::Continued => {}
                }
            }
            let due_in = match failure {
                None => companion.due_in(),
                Some(_) => Duration::MAX,
            };
            match follower.queue.next(due_in).map_err(lost)? {
                None => failure = companion.tick().err().map(said),
                Some(signal) if signal.number == CHILD => {}
                // Do not deliver a signal twice: those of the terminal come from the kernel, which
                // sends them to the program as well, and a signal to the whole process group
                // reaches it, too.
                Some(signal) => {
                    let from_outside = |sender| sender != own && sender != child.pid();
                    if signal.sender.is_some_and(from_outside) && !follower.witness.saw(signal) {
                        child.signal(signal.number);
                    }
                }
            }
        }
    }
}

/// Prints a failure beside a program that runs, and returns its exit code.
fn said(failure: Failure) -> ExitCode {
    output::talk(&format!(
        "numalab: {}; the program goes on",
        failure.message
    ));
    failure.exit_code
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// The end of the program.
    pub event: ChildEvent,
    /// The exit code of what failed beside it.
    failure: Option<ExitCode>,
}

impl Ended {
    /// Whether the program succeeded, and everything beside it.
    pub(super) fn is_success(&self) -> bool {
        self.event == ChildEvent::Exited(0) && self.failure.is_none()
    }

    /// Ends this process as the program ended; if it succeeded and something beside it failed, with
    /// the exit code of that. Returns if the program has not ended.
    pub(super) fn end_as(&self) {
        match (self.event, self.failure) {
            (ChildEvent::Killed(signal), _) => {
                child::end_by_signal(signal);
                std::process::exit(128 + signal)
            }
            (ChildEvent::Exited(0), Some(code)) => std::process::exit(i32::from(code.number())),
            (ChildEvent::Exited(status), _) => std::process::exit(i32::from(status)),
            (ChildEvent::Stopped(_) | ChildEvent::Continued, _) => {}
        }
    }
}
