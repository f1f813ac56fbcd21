//! A start line at which threads wait for one another, so that their windows cover the same time:
//! they meet, agree on a time slightly ahead, and poll the clock until it is reached. (The start by
//! hardware counter follows ARM's infra-microbenchmarks, "loaded-latency".)

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::timer::Timer;

/// Time from the meeting to the start: longer than a thread takes to wake up on another CPU.
const LEAD_NS: u64 = 500_000;

/// A start that several threads make together, repeatedly.
pub(crate) struct StartLine {
    barrier: Barrier,
    /// The next start in ticks; every start differs from the one before.
    start: AtomicU64,
}

impl StartLine {
    /// Creates a start line for this many threads, which must read the same clock.
    pub(crate) fn new(threads: usize) -> Self {
        StartLine {
            barrier: Barrier::new(threads),
            start: AtomicU64::new(0),
        }
    }

    /// Waits for all threads and then for the start time, and returns it in ticks.
    pub(crate) fn wait(&self, timer: &Timer) -> u64 {
        let before = self.start.load(Ordering::Relaxed);
        if self.barrier.wait().is_leader() {
            let start = timer.now() + timer.ticks_of(LEAD_NS);
            self.start.store(start.max(before + 1), Ordering::Release);
        }
        let start = loop {
            match self.start.load(Ordering::Acquire) {
                same if same == before => std::hint::spin_loop(),
                start => break start,
            }
        };
        while timer.now() < start {
            std::hint::spin_loop();
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::StartLine;
    use crate::timer::Timer;

    #[test]
    fn threads_start_at_the_same_moment_every_time() {
        let (line, timer) = (StartLine::new(2), Timer::for_tests());
        let starts = || {
            let starts: Vec<u64> = (0..3).map(|_| line.wait(&timer)).collect();
            assert!(starts.is_sorted_by(|a, b| a < b));
            starts
        };
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(starts);
            (starts(), other.join().unwrap())
        });
        assert_eq!(one, other);
    }
}
