//! Signals to this process as readable records (signalfd(2)), with their senders.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::SystemCallError;
use crate::blocked_signals::{self, BlockedSignals};

/// A received signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// The process that sent it; `None` for the kernel, as for Ctrl-C, which goes to the whole
    /// foreground process group of the terminal.
    pub sender: Option<u32>,
}

/// The queue of this process's signals. Until it is dropped, no signal has its usual effect.
#[derive(Debug)]
pub struct SignalQueue {
    descriptor: OwnedFd,
    blocked: BlockedSignals,
}

impl SignalQueue {
    /// Queues every signal that can be queued.
    ///
    /// # Errors
    /// When this process has threads that may receive signals, since the kernel delivers a signal
    /// to any of them; when file descriptors have run out.
    pub fn new() -> Result<Self, SystemCallError> {
        let alone = crate::process::require_one_thread();
        alone.map_err(|cause| SystemCallError::with("signalfd", "all signals", cause))?;
        Self::of_this_thread()
    }

    /// The same for signals to the calling thread.
    pub(crate) fn of_this_thread() -> Result<Self, SystemCallError> {
        let blocked = BlockedSignals::all();
        let every = blocked_signals::every_signal();
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the kernel reads a set that has a value.
        let descriptor = unsafe { libc::signalfd(-1, &raw const every, flags) };
        if descriptor < 0 {
            return Err(SystemCallError::last("signalfd", "all signals"));
        }
        Ok(SignalQueue {
            // SAFETY: the descriptor is new and has no other owner.
            descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) },
            blocked,
        })
    }

    /// The signals that were blocked before, for a child that must behave as without a queue.
    pub(crate) fn mask_before(&self) -> libc::sigset_t {
        self.blocked.before()
    }

    /// The next signal; `None` if none arrives within `timeout` (`Duration::MAX`: no timeout).
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn next(&self, timeout: Duration) -> io::Result<Option<Signal>> {
        // A timeout too long for the kernel is as good as none.
        let timeout = Timespec::try_from(timeout).ok();
        let mut waited = [PollFd::new(&self.descriptor, PollFlags::IN)];
        match rustix::event::poll(&mut waited, timeout.as_ref())? {
            0 => Ok(None),
            _ => self.read().map(Some),
        }
    }

    fn read(&self) -> io::Result<Signal> {
        let mut found = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let length = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has room for `length` bytes.
        let read = unsafe {
            libc::read(
                self.descriptor.as_raw_fd(),
                found.as_mut_ptr().cast(),
                length,
            )
        };
        if usize::try_from(read) != Ok(length) {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has written the whole structure.
        let found = unsafe { found.assume_init() };
        // sigaction(2): codes above 0 are the kernel's, the others those of kill, sigqueue, tgkill.
        let is_sent = found.ssi_code <= 0;
        Ok(Signal {
            number: found.ssi_signo as i32,
            sender: is_sent.then_some(found.ssi_pid),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Signal, SignalQueue};

    #[test]
    fn a_process_with_several_threads_has_no_queue() {
        let refused = std::thread::spawn(|| SignalQueue::new().map(drop));
        let error = refused.join().unwrap().unwrap_err().to_string();
        assert!(
            error.contains("other threads, and may have none"),
            "{error}"
        );
    }

    #[test]
    fn a_signal_of_a_process_names_its_sender_and_has_no_effect() {
        std::thread::spawn(|| {
            let queue = SignalQueue::of_this_thread().unwrap();
            assert_eq!(queue.next(Duration::from_millis(1)).unwrap(), None);
            // SAFETY: a signal to this thread, which holds it in its queue.
            unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGTERM) };
            let found = queue.next(Duration::MAX).unwrap();
            let expected = Signal {
                number: libc::SIGTERM,
                sender: Some(std::process::id()),
            };
            assert_eq!(found, Some(expected));
        })
        .join()
        .unwrap();
    }
}
