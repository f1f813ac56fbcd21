//! One session: what a database implements for it, and the thread of its client.

use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use linux::Root;
use linux::schedstat::{self, ScheduleTimes};

use crate::Error;

/// Duration of one call of the warm-up.
pub(crate) const SLICE_S: f64 = 0.1;

/// Opens a session, in the thread in which it then stays.
pub type Opener = Box<dyn FnOnce(Listener) -> Result<Box<dyn Session>, Error> + Send>;

/// An open session. Its calls execute statements, each of which reads `work_unit` consecutive rows
/// from a key drawn uniformly.
pub trait Session {
    /// Returns the kernel's id of the process or thread of the server that does its work; `None`
    /// if it is not on this machine. Several sessions may have the same.
    fn task(&self) -> Option<u32>;

    /// Returns what makes a call end soon, from another thread.
    fn stop(&self) -> Box<dyn FnOnce() + Send>;

    /// Executes one call: statements one after another until the end of the first one after
    /// `call.until`. Tells the listener of the opener the two marks of the window, and what was
    /// counted in between every `call.sample_s`.
    ///
    /// # Errors
    /// When a statement fails.
    fn call(&mut self, work_unit: u32, call: &Call) -> Result<Done, Error>;

    /// Hands its counters in, so that the server's are complete; returns its own logical reads so
    /// far, if the server counts them by session.
    ///
    /// # Errors
    /// When a statement fails.
    fn hand_in(&mut self) -> Result<Option<u64>, Error>;
}

/// The times of one call, in seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// Start of the window; infinite: no window.
    pub starts: f64,
    /// End of the window.
    pub ends: f64,
    /// The call ends at the first statement end after this.
    pub until: f64,
    /// Time between two samples.
    pub sample_s: f64,
}

/// Result of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Done {
    /// Statements of the call.
    pub statements: u64,
    /// Statements of the window.
    pub counted: u64,
    /// Length of the window, µs.
    pub window_us: u64,
    /// The longest statement of the window, µs.
    pub longest_us: u64,
    /// Statements that did not return the rows that were written.
    pub wrong: u64,
}

/// The start or end of a window, with the scheduler's times of the session's task; `None` if they
/// cannot be read.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// When numalab read them; `None`: the task did, at that very moment.
    pub read_at: Option<Instant>,
    /// The times.
    pub times: Option<ScheduleTimes>,
}

impl Mark {
    /// Reads the times of a task, now.
    pub fn of(task: Option<u32>) -> Self {
        let times = task.and_then(|task| schedstat::of_process(&Root::live(), task).ok());
        let read_at = Some(Instant::now());
        Mark { read_at, times }
    }
}

/// Hears what a session has to tell in the middle of a call.
#[derive(Clone, Debug)]
pub struct Listener {
    session: u32,
    events: Sender<(u32, Event)>,
}

impl Listener {
    /// Takes the statements of the window so far.
    pub fn sample(&self, statements: u64) {
        self.tell(Event::Sample { statements });
    }

    /// Takes the begin or end of the window of this session.
    pub fn mark(&self, mark: Mark) {
        self.tell(Event::Mark(mark));
    }

    fn tell(&self, event: Event) {
        // The receiver is gone if the trial was given up.
        let _ = self.events.send((self.session, event));
    }
}

/// A command of the coordinator to a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Command {
    /// Run calls with this work unit until the next command.
    WarmUp { work_unit: u32 },
    /// Hand in counters.
    Settle,
    /// Run one call over the window.
    Measure { work_unit: u32, call: Call },
}

/// An event that a session reports to the coordinator.
pub(crate) enum Event {
    /// The session is connected; `stop` ends its call.
    Connected {
        task: Option<u32>,
        stop: Box<dyn FnOnce() + Send>,
    },
    /// A call of the warm-up ended; its statements per second.
    Slice { statements_per_s: f64 },
    /// Counters are handed in; its own logical reads, if the server counts them.
    Settled { own_hits: Option<u64> },
    /// Statements of the window so far.
    Sample { statements: u64 },
    /// The window began or ended for this session.
    Mark(Mark),
    /// The call over the window ended.
    Measured { done: Done, own_hits: Option<u64> },
    /// The session cannot continue.
    Failed(Error),
}

/// Runs the thread of a session until its commands end.
pub(crate) fn run(
    session: u32,
    opener: Opener,
    commands: &Receiver<Command>,
    events: Sender<(u32, Event)>,
) {
    let listener = Listener { session, events };
    if let Err(error) = serve(opener, commands, &listener) {
        listener.tell(Event::Failed(error));
    }
}

fn serve(opener: Opener, commands: &Receiver<Command>, listener: &Listener) -> Result<(), Error> {
    let mut session = opener(listener.clone())?;
    let (task, stop) = (session.task(), session.stop());
    listener.tell(Event::Connected { task, stop });
    let mut next = commands.recv().ok();
    while let Some(command) = next {
        match command {
            Command::WarmUp { work_unit } => {
                let statements_per_s = slice(session.as_mut(), work_unit)?;
                listener.tell(Event::Slice { statements_per_s });
                // Repeat unless there is another command.
                next = match commands.try_recv() {
                    Ok(command) => Some(command),
                    Err(TryRecvError::Empty) => Some(Command::WarmUp { work_unit }),
                    Err(TryRecvError::Disconnected) => None,
                };
                continue;
            }
            Command::Settle => {
                let own_hits = session.hand_in()?;
                listener.tell(Event::Settled { own_hits });
            }
            Command::Measure { work_unit, call } => {
                let done = verified(session.call(work_unit, &call)?)?;
                let own_hits = session.hand_in()?;
                listener.tell(Event::Measured { done, own_hits });
            }
        }
        next = commands.recv().ok();
    }
    Ok(())
}

/// Runs one call of the warm-up; returns its statements per second.
fn slice(session: &mut dyn Session, work_unit: u32) -> Result<f64, Error> {
    let begun = Instant::now();
    let call = Call {
        starts: f64::INFINITY,
        ends: f64::INFINITY,
        until: seconds(SystemTime::now()) + SLICE_S,
        sample_s: 1.0,
    };
    let done = verified(session.call(work_unit, &call)?)?;
    Ok(done.statements as f64 / begun.elapsed().as_secs_f64())
}

/// Rejects a call with statements that did not return the rows that were written.
fn verified(done: Done) -> Result<Done, Error> {
    if done.wrong == 0 {
        return Ok(done);
    }
    Err(Error::answer(
        "the rows of the load",
        "the rows that were written",
        format!(
            "{} of {} statements with others",
            done.wrong, done.statements
        ),
    ))
}

/// Converts a time to seconds since the epoch.
pub(crate) fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}
