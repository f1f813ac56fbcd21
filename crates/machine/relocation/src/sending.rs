//! A thread that has the kernel move batches while the caller prepares the next ones. One for all
//! batches: in an emulated guest, 0.05 s passed from the start of a thread to its first call.

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::batch::{SendOutcome, ToSend};
use super::sender::Full;

/// Pages to send, on how many threads, whether those of other processes may be moved, and which
/// nodes have no room.
type Job = (Arc<ToSend>, usize, bool, Full);

/// The thread, which waits for pages. It ends with this value.
pub(super) struct Sending {
    jobs: Sender<Job>,
    outcomes: Receiver<SendOutcome>,
    thread: JoinHandle<()>,
}

impl Sending {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the kernel allows no further thread.
    pub(super) fn start() -> io::Result<Self> {
        let (jobs, to_do) = channel::<Job>();
        let (done, outcomes) = channel();
        let work = move || {
            for (to_send, threads, of_others, full) in to_do {
                let outcome = to_send.send(threads, of_others, &full);
                if done.send(outcome).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().spawn(work)?;
        Ok(Self {
            jobs,
            outcomes,
            thread,
        })
    }

    /// Sends pages while the caller does something else; returns what became of both, and the
    /// thread.
    pub(super) fn beside<T>(self, job: Job, work: impl FnOnce() -> T) -> (SendOutcome, T, Self) {
        // It fails only if the thread has panicked, which the outcome tells.
        let _ = self.jobs.send(job);
        let result = work();
        match self.outcomes.recv() {
            Ok(outcome) => (outcome, result, self),
            Err(_) => match self.thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("the thread ends with its jobs"),
            },
        }
    }
}
