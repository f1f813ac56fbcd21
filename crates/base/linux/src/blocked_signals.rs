//! Signals that the kernel delivers to no thread that has blocked them (sigprocmask(2)).

use std::mem::MaybeUninit;

/// Signals that no thread can block.
const NEVER_BLOCKED: [i32; 2] = [libc::SIGKILL, libc::SIGSTOP];

/// All signals to the calling thread, blocked until this is dropped on the same thread. Threads
/// that it starts meanwhile have them blocked until they end.
#[derive(Debug)]
pub(crate) struct BlockedSignals {
    before: libc::sigset_t,
}

impl BlockedSignals {
    pub(crate) fn all() -> Self {
        let blocked = every_signal();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the kernel reads the first set, which has a value, and fills the second.
        let before = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const blocked, before.as_mut_ptr());
            before.assume_init()
        };
        BlockedSignals { before }
    }

    /// The signals that were blocked before, for a child that must behave as without this.
    pub(crate) fn before(&self) -> libc::sigset_t {
        self.before
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the kernel wrote the set when the signals were blocked.
        unsafe {
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.before,
                std::ptr::null_mut(),
            );
        }
    }
}

/// Every signal that can be blocked.
pub(crate) fn every_signal() -> libc::sigset_t {
    let mut every = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigfillset` gives the set its value before the other calls change it.
    unsafe {
        libc::sigfillset(every.as_mut_ptr());
        for signal in NEVER_BLOCKED {
            libc::sigdelset(every.as_mut_ptr(), signal);
        }
        every.assume_init()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::BlockedSignals;

    /// What the kernel says that this thread has blocked (proc(5), SigBlk).
    fn blocked() -> String {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        line.unwrap().trim().to_owned()
    }

    #[test]
    fn threads_started_meanwhile_have_all_signals_blocked_and_the_caller_as_before() {
        let before = blocked();
        let signals = BlockedSignals::all();
        let thread = std::thread::spawn(blocked);
        drop(signals);
        // 64 signals without SIGKILL and SIGSTOP, and the two that the C library keeps.
        assert_eq!(thread.join().unwrap(), "fffffffe7ffbfeff");
        assert_eq!(blocked(), before);
    }
}
