//! Sleeping on a word of shared memory, across processes: futex(2).

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::thread::futex::{Flags, Timespec, wait as futex_wait, wake as futex_wake};

/// Sleeps while `word` holds `expected`, at most for `timeout`. Returns early on a wake, a signal,
/// or a word that has changed already: the caller looks again.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|time| Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: time.subsec_nanos().into(),
    });
    // Every error is one of the reasons to look again: EAGAIN, EINTR, ETIMEDOUT.
    let _ = futex_wait(word, Flags::empty(), expected, timeout.as_ref());
}

/// Wakes at most `count` sleepers.
pub fn wake(word: &AtomicU32, count: u32) {
    // The call fails only for an address that is not mapped, which a reference rules out.
    let _ = futex_wake(word, Flags::empty(), count);
}
