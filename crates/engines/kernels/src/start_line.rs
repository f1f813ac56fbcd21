//! Where threads wait for one another, so that their windows are the same stretch of time: they
//! meet, agree on a moment a little ahead, and watch the clock until it comes. (The idea of a start
//! by the hardware's counter is that of ARM's infra-microbenchmarks, "loaded-latency".)

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::timer::Timer;

/// From the meeting to the start: longer than a thread takes to wake up on another CPU.
const LEAD_NS: u64 = 500_000;

/// A start that several threads make together, again and again.
pub(crate) struct StartLine {
    barrier: Barrier,
    /// The next start in ticks; every start differs from the one before.
    start: AtomicU64,
}

impl StartLine {
    /// For so many threads, which share the CPU's counter.
    pub(crate) fn new(threads: usize) -> Self {
        StartLine {
            barrier: Barrier::new(threads),
            start: AtomicU64::new(0),
        }
    }

    /// Waits for all threads and then for the moment; says which it was, in ticks.
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
