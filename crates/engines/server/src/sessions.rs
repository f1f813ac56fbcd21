//! All sessions of a trial: their threads, the commands to them and the events from them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::session::{self, Command, Event};
use crate::{Error, Opener};

/// Timeout for all sessions to connect; generous, since emulated machines are slow.
const CONNECT_WITHIN: Duration = Duration::from_secs(120);

/// How much longer than its own duration a call of a session may take before it counts as stuck.
pub(crate) const CALL_SLACK: Duration = Duration::from_secs(60);
/// How often a waiting thread checks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Connected sessions; dropping this stops them and waits for them.
pub(crate) struct Sessions {
    commands: Vec<Sender<Command>>,
    events: Receiver<(u32, Event)>,
    threads: Vec<JoinHandle<()>>,
    stops: Vec<Option<Box<dyn FnOnce() + Send>>>,
    /// The processes or threads that do the work of sessions, in order of session.
    pub tasks: Vec<Option<u32>>,
}

impl Sessions {
    /// Starts the sessions and waits until all are connected.
    ///
    /// # Errors
    /// When one cannot connect, or the trial is cancelled.
    pub(crate) fn start(openers: Vec<Opener>, cancelled: &dyn Fn() -> bool) -> Result<Self, Error> {
        let (sender, events) = channel();
        let (mut commands, mut threads) = (Vec::new(), Vec::new());
        let count = openers.len();
        for (session, opener) in (0..).zip(openers) {
            let (command, received) = channel();
            let sender = sender.clone();
            commands.push(command);
            threads.push(std::thread::spawn(move || {
                session::run(session, opener, &received, sender)
            }));
        }
        let mut stops = Vec::new();
        stops.resize_with(count, || None);
        let tasks = vec![None; count];
        let mut sessions = Sessions {
            commands,
            events,
            threads,
            stops,
            tasks,
        };
        sessions.all(
            "connecting",
            CONNECT_WITHIN,
            cancelled,
            |it, session, event| {
                let Event::Connected { task, stop } = event else {
                    return false;
                };
                it.tasks[session as usize] = task;
                it.stops[session as usize] = Some(stop);
                true
            },
        )?;
        Ok(sessions)
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Sends a command to all sessions.
    pub(crate) fn tell(&self, command: Command) {
        for sender in &self.commands {
            // A session that has ended reports why.
            let _ = sender.send(command);
        }
    }

    /// Returns the next event before `until`; `None` if there is none.
    ///
    /// # Errors
    /// When a session failed, or the trial is cancelled.
    pub(crate) fn next(
        &self,
        until: Instant,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<(u32, Event)>, Error> {
        loop {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left.min(LOOK_EVERY)) {
                Ok((session, Event::Failed(cause))) => {
                    let cause = Box::new(cause);
                    return Err(Error::Session { session, cause });
                }
                Ok(event) => return Ok(Some(event)),
                Err(RecvTimeoutError::Timeout) if left > LOOK_EVERY => {}
                // A session that ends reports it first, so no further event follows.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Waits until `take` has returned true once for each session.
    ///
    /// # Errors
    /// As for [`Sessions::next`], and when it takes longer than `within`.
    pub(crate) fn all(
        &mut self,
        what: &'static str,
        within: Duration,
        cancelled: &dyn Fn() -> bool,
        mut take: impl FnMut(&mut Self, u32, Event) -> bool,
    ) -> Result<(), Error> {
        let until = Instant::now() + within;
        let mut missing = self.len();
        while missing > 0 {
            let Some((session, event)) = self.next(until, cancelled)? else {
                let seconds = within.as_secs();
                return Err(Error::Late { what, seconds });
            };
            missing -= usize::from(take(self, session, event));
        }
        Ok(())
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.commands.clear();
        for (thread, stop) in self.threads.iter().zip(self.stops.drain(..)) {
            if let (false, Some(stop)) = (thread.is_finished(), stop) {
                stop();
            }
        }
        for thread in self.threads.drain(..) {
            // A session that panicked reports nothing more.
            let _ = thread.join();
        }
    }
}
