//! Sleeping on a word of shared memory, across processes: futex(2).

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::thread::futex::{Flags, Timespec, wait as futex_wait, wake as futex_wake};

/// Sleeps while `word` holds `expected`, for at most `timeout`. Returns early on a wakeup, a
/// signal, or if the word has already changed: the caller checks again.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|time| Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: time.subsec_nanos().into(),
    });
    // Every error is a reason to check again: EAGAIN, EINTR, ETIMEDOUT.
    let _ = futex_wait(word, Flags::empty(), expected, timeout.as_ref());
}

/// Wakes at most `count` sleepers.
pub fn wake(word: &AtomicU32, count: u32) {
    // The call fails only for an unmapped address, which a reference rules out.
    let _ = futex_wake(word, Flags::empty(), count);
}
