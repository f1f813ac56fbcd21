//! A child process that is waited for without being reaped by accident: its end, its stops, signals
//! to it, and ending as it ended.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child as StdChild, Command};

use crate::signal_queue::SignalQueue;

/// What became of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildEvent {
    /// It ended by itself with this status.
    Exited(u8),
    /// A signal of this number ended it.
    Killed(i32),
    /// A signal of this number stopped it.
    Stopped(i32),
    /// It goes on after a stop.
    Continued,
}

/// A child that runs or has run.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    /// Kept for its descriptors alone; it never waits.
    _handle: StdChild,
}

impl Child {
    /// Starts a program, looked up in `PATH`; when this returns, it is that program that runs. It
    /// is in the process group of this process, has its terminal, and the signals that this process
    /// keeps in `queue` have their usual effect on it.
    ///
    /// # Errors
    /// `ENOENT` when there is none, `EACCES` or `ENOEXEC` when it cannot be executed.
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
        // SAFETY: what runs between fork and exec is one system call on memory of its own.
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

    /// The next thing that became of it, if anything did since; never waits.
    ///
    /// # Errors
    /// `ECHILD` after its end was told.
    pub fn event(&self) -> io::Result<Option<ChildEvent>> {
        let mut status = 0;
        let flags = libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED;
        // SAFETY: the kernel writes one int.
        let answer = unsafe { libc::waitpid(self.pid as i32, &raw mut status, flags) };
        match answer {
            0 => Ok(None),
            1.. if libc::WIFEXITED(status) => {
                Ok(Some(ChildEvent::Exited(libc::WEXITSTATUS(status) as u8)))
            }
            1.. if libc::WIFSIGNALED(status) => {
                Ok(Some(ChildEvent::Killed(libc::WTERMSIG(status))))
            }
            1.. if libc::WIFSTOPPED(status) => {
                Ok(Some(ChildEvent::Stopped(libc::WSTOPSIG(status))))
            }
            1.. => Ok(Some(ChildEvent::Continued)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sends it a signal. One that has ended, and was not told of yet, takes it without effect.
    pub fn signal(&self, number: i32) {
        // SAFETY: a signal to a child that was not reaped, so the id is still its own.
        unsafe { libc::kill(self.pid as i32, number) };
    }
}

/// Stops this process until a SIGCONT continues it.
pub fn stop_this_process() {
    // SAFETY: has no effect on memory.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Ends this process by a signal, so that whoever waits for it sees the same as we saw; without a
/// core, which would be of the wrong program. Returns when the signal does not end a process.
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
