//! A child process that is never reaped by accident: waiting for its stops and its end, sending it
//! signals, and ending as it ended.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child as StdChild, Command};

use rustix::process::{Pid, WaitOptions, waitpid};

use crate::signal_queue::SignalQueue;

/// A change of state of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildEvent {
    /// It exited with this status.
    Exited(u8),
    /// A signal of this number ended it.
    Killed(i32),
    /// A signal of this number stopped it.
    Stopped(i32),
    /// It continues after a stop.
    Continued,
}

/// A child that runs or has run.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    /// Kept only for its descriptors; never waited on.
    _handle: StdChild,
}

impl Child {
    /// Starts a program, looked up in `PATH`; returns once exec has succeeded. The child stays in
    /// the process group of this process and shares its terminal. The signals that this process
    /// holds in `queue` have their usual effect on the child.
    ///
    /// # Errors
    /// `ENOENT` when no such program exists, `EACCES` or `ENOEXEC` when it cannot be executed.
    pub fn start(words: &[OsString], queue: &SignalQueue) -> io::Result<Self> {
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        let mut command = Command::new(program);
        command.args(arguments);
        let mask = queue.mask_before();
        let unblock = move || {
            // SAFETY: `mask` was written by the kernel and belongs to this closure.
            unsafe {
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut())
            };
            Ok(())
        };
        // SAFETY: between fork and exec there is one system call, on memory the closure owns.
        unsafe { command.pre_exec(unblock) };
        let handle = command.spawn()?;
        Ok(Child {
            pid: handle.id(),
            _handle: handle,
        })
    }

    /// Its id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the next change of state, if there was one since the last call; never waits.
    ///
    /// # Errors
    /// `ECHILD` once the end of the child has been reported.
    pub fn event(&self) -> io::Result<Option<ChildEvent>> {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
        let Some((_, status)) = waitpid(Pid::from_raw(self.pid as i32), options)? else {
            return Ok(None);
        };
        let event = if let Some(code) = status.exit_status() {
            ChildEvent::Exited(code as u8)
        } else if let Some(number) = status.terminating_signal() {
            ChildEvent::Killed(number)
        } else if let Some(number) = status.stopping_signal() {
            ChildEvent::Stopped(number)
        } else {
            ChildEvent::Continued
        };
        Ok(Some(event))
    }

    /// Sends it a signal. A child that has ended but is not yet reaped ignores it.
    pub fn signal(&self, number: i32) {
        // SAFETY: the child has not been reaped, so the id still belongs to it.
        unsafe { libc::kill(self.pid as i32, number) };
    }
}

/// Stops this process until a SIGCONT continues it.
pub fn stop_this_process() {
    // SAFETY: has no effect on memory.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Ends this process by a signal, so that its parent sees the same end as this process saw. Writes
/// no core, which would be one of the wrong program. Returns if the signal does not end a process.
pub fn end_by_signal(number: i32) {
    // SAFETY: plain numbers, and a set that is initialised before it is used.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(number, libc::SIG_DFL);
        let mut only = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(only.as_mut_ptr());
        libc::sigaddset(only.as_mut_ptr(), number);
        libc::raise(number);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, only.as_ptr(), std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::{Child, ChildEvent};
    use crate::signal_queue::SignalQueue;

    fn events_of(words: &[&str], signals: &[i32]) -> Vec<ChildEvent> {
        let words: Vec<_> = words.iter().map(Into::into).collect();
        let queue = SignalQueue::of_this_thread().unwrap();
        let child = Child::start(&words, &queue).unwrap();
        let mut seen = Vec::new();
        let mut signals = signals.iter();
        loop {
            if let Some(signal) = signals.next() {
                child.signal(*signal);
            }
            let event = loop {
                match child.event().unwrap() {
                    Some(event) => break event,
                    None => std::thread::yield_now(),
                }
            };
            seen.push(event);
            if matches!(event, ChildEvent::Exited(_) | ChildEvent::Killed(_)) {
                return seen;
            }
        }
    }

    #[test]
    fn ends_and_stops_are_told_apart() {
        let check = |words: &[&str], signals: &[i32], expected: &[ChildEvent]| {
            assert_eq!(events_of(words, signals), expected, "{words:?}");
        };
        check(&["sh", "-c", "exit 7"], &[], &[ChildEvent::Exited(7)]);
        let kill = ["sh", "-c", "kill -TERM $$; exit 3"];
        check(&kill, &[], &[ChildEvent::Killed(libc::SIGTERM)]);
        check(
            &["sleep", "600"],
            &[libc::SIGSTOP, libc::SIGCONT, libc::SIGTERM],
            &[
                ChildEvent::Stopped(libc::SIGSTOP),
                ChildEvent::Continued,
                ChildEvent::Killed(libc::SIGTERM),
            ],
        );
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        let queue = SignalQueue::of_this_thread().unwrap();
        let error = Child::start(&["numalab-no-such-program".into()], &queue).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        assert!(Child::start(&[], &queue).is_err());
    }
}
