//! The server of a trial on which a program is the load: waited for until it answers, looked at,
//! and stopped.

use std::time::{Duration, Instant};

use linux::Root;
use linux::own_program::OwnProgram;
use model::{BytesByNode, CommandServer, Placement, Topology};
use residency::Options;
use residency::instances::Target;

use super::command_launch::CommandOrder;
use super::guarded::Guarded;
use super::printed_lines::shown;
use crate::Cancel;

/// The longest that a server may take until it answers.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// Between two questions whether it answers.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// Between two looks at a question.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The longest that a server may take to end by itself.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// A server that answers.
pub(super) struct RunningServer {
    server: Guarded,
}

impl RunningServer {
    /// Starts a server and waits until it answers; `None` when cancelled.
    ///
    /// # Errors
    /// Why it does not answer, as a lower-case fragment.
    pub(super) fn start(
        launcher: &OwnProgram,
        order: &CommandOrder,
        asked: &CommandServer,
        cancel: &Cancel,
    ) -> Result<Option<Self>, String> {
        let server = Guarded::start(launcher, order, None)?;
        let mut running = RunningServer { server };
        let deadline = Instant::now() + READY_WITHIN;
        let question = client_order(asked, &asked.ready);
        loop {
            if cancel.is_cancelled() {
                return Ok(None);
            }
            running.require_running("before it answered")?;
            // A question that any program answers must not be asked before this one is placed.
            if running.server.read_back().is_none() && Instant::now() < deadline {
                std::thread::sleep(LOOK_EVERY);
                continue;
            }
            let question = Guarded::start(launcher, &question, None)?;
            let answer = answer(question, deadline, cancel)?;
            match answer {
                Answer::Yes => return Ok(Some(running)),
                Answer::No(_) if Instant::now() < deadline => std::thread::sleep(ASK_EVERY),
                Answer::No(said) => {
                    let seconds = READY_WITHIN.as_secs();
                    return Err(format!(
                        "the server did not answer within {seconds} s; `ready` said {}",
                        shown(&said)
                    ));
                }
            }
        }
    }

    /// Returns an error if it has ended.
    ///
    /// # Errors
    /// Its exit status, and the end of its standard error, as a lower-case fragment.
    pub(super) fn require_running(&mut self, when: &str) -> Result<(), String> {
        let Some(status) = self.server.try_end()? else {
            return Ok(());
        };
        // What it said is read by threads that end with its pipes.
        let said = self.server.said();
        let said = shown(&said);
        Err(format!(
            "the server ended {when}, with {status}; stderr: {said}"
        ))
    }

    /// The program.
    pub(super) fn guarded(&mut self) -> &mut Guarded {
        &mut self.server
    }

    /// Where its private and shared memory is; `when` this is, for one that has ended.
    ///
    /// # Errors
    /// What could not be read, or as [`Self::require_running`].
    pub(super) fn memory(
        &mut self,
        topology: &Topology,
        when: &str,
    ) -> Result<BytesByNode, String> {
        let placed = self.server.read_back();
        let placed = placed.ok_or("the server did not say its process")?;
        let target = Target::Process(placed.pid);
        let found = residency::inspect(&Root::live(), &target, topology, &Options::default());
        match found {
            Ok(found) => Ok(residency::own_memory(&found)),
            Err(error) => {
                self.require_running(when)?;
                Err(error.to_string())
            }
        }
    }

    /// Asks it to end, and ends what is left of it then.
    pub(super) fn stop(mut self) {
        self.server.terminate(STOP_WITHIN);
    }
}

/// The order for a client of the server: a program on other CPUs, with no memory policy.
pub(super) fn client_order(asked: &CommandServer, command: &str) -> CommandOrder {
    CommandOrder {
        parent_pid: std::process::id(),
        placement: Placement {
            cpus: asked.client_cpus.clone(),
            ..Placement::inherited()
        },
        groups: Vec::new(),
        allocation: model::Allocation::OsDefault,
        command: command.to_owned(),
    }
}

enum Answer {
    Yes,
    /// With what it said.
    No(String),
}

/// Waits for the end of a question; at the deadline, or when cancelled, the answer is no.
fn answer(mut question: Guarded, deadline: Instant, cancel: &Cancel) -> Result<Answer, String> {
    let status = loop {
        match question.try_end()? {
            Some(status) => break Some(status),
            None if Instant::now() >= deadline || cancel.is_cancelled() => break None,
            None => std::thread::sleep(LOOK_EVERY),
        }
    };
    let left = question.finish()?;
    Ok(match status {
        Some(status) if status.success() => Answer::Yes,
        _ => Answer::No(left.stderr + &left.printed.text),
    })
}
