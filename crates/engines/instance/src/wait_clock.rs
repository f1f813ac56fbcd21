//! Times named waits, without the run-queue wait that may follow the wake-up.

use linux::clock::{monotonic_ns, process_cpu_ns};
use linux::schedstat::RunQueueWait;

use crate::Error;
use crate::layout::{WAIT_EVENTS, WaitEvent};

/// One wait: its start and end, and how much of it was spent on a run queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interval {
    start_ns: u64,
    end_ns: u64,
    run_queue_ns: u64,
}

impl Interval {
    /// Returns the part of the wait after `floor_ns`, without the run-queue wait, which comes last.
    fn ns_after(&self, floor_ns: u64) -> u64 {
        let asleep_until = self.end_ns.saturating_sub(self.run_queue_ns);
        asleep_until.saturating_sub(self.start_ns.max(floor_ns))
    }
}

/// Count and time of each named wait of one session.
#[derive(Debug)]
pub(crate) struct WaitClock {
    run_queue: RunQueueWait,
    /// Number of waits by event.
    pub counts: [u64; WAIT_EVENTS],
    /// Time in waits by event.
    pub ns: [u64; WAIT_EVENTS],
    last: [Option<Interval>; WAIT_EVENTS],
}

impl WaitClock {
    /// Creates a clock at zero.
    ///
    /// # Errors
    /// [`Error::Schedstat`] when the kernel does not report the run-queue wait.
    pub(crate) fn new() -> Result<Self, Error> {
        let run_queue = RunQueueWait::open().map_err(Error::Schedstat)?;
        run_queue.read_ns().map_err(Error::Schedstat)?;
        Ok(WaitClock {
            run_queue,
            counts: [0; WAIT_EVENTS],
            ns: [0; WAIT_EVENTS],
            last: [None; WAIT_EVENTS],
        })
    }

    /// Returns the run-queue wait of this process so far, ns.
    pub(crate) fn run_queue_ns(&self) -> u64 {
        // `new` has read the file; it does not vanish while the process lives.
        self.run_queue.read_ns().unwrap_or(0)
    }

    /// Times one wait.
    pub(crate) fn time(&mut self, event: WaitEvent, sleep: impl FnOnce()) {
        let (start_ns, queued_before) = (monotonic_ns(), self.run_queue_ns());
        sleep();
        let run_queue_ns = self.run_queue_ns().saturating_sub(queued_before);
        let interval = Interval {
            start_ns,
            end_ns: monotonic_ns(),
            run_queue_ns,
        };
        self.counts[event as usize] += 1;
        self.ns[event as usize] += interval.ns_after(0);
        self.last[event as usize] = Some(interval);
    }

    /// Times one wait for a device, excluding the CPU time of the call itself, which is DB CPU.
    pub(crate) fn time_device(&mut self, event: WaitEvent, transfer: impl FnOnce()) {
        let cpu_before = process_cpu_ns();
        let mut cpu_ns = 0;
        self.time(event, || {
            transfer();
            cpu_ns = process_cpu_ns() - cpu_before;
        });
        let counted = &mut self.ns[event as usize];
        let before = *counted - self.last[event as usize].map_or(0, |last| last.ns_after(0));
        *counted = before.max(counted.saturating_sub(cpu_ns));
    }

    /// Times one sleep for a bucket latch.
    #[cold]
    pub(crate) fn bucket_latch(&mut self, sleep: &dyn Fn()) {
        self.time(WaitEvent::BucketLatch, sleep);
    }

    /// Returns the counts and times as of `start_ns`, the start of a window: a wait for the CPU
    /// quantum that spans `start_ns` belongs to the window with its later part. Any other wait
    /// belongs to a statement, whose reads are counted where the statement ends; so is the wait.
    pub(crate) fn as_of(&self, start_ns: u64) -> ([u64; WAIT_EVENTS], [u64; WAIT_EVENTS]) {
        let (mut counts, mut ns) = (self.counts, self.ns);
        let event = WaitEvent::CpuQuantum as usize;
        if let Some(last) = self.last[event].filter(|last| last.end_ns > start_ns) {
            counts[event] -= 1;
            ns[event] -= last.ns_after(start_ns);
        }
        (counts, ns)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use linux::clock::monotonic_ns;

    use super::{Interval, WaitClock};
    use crate::layout::WaitEvent;

    #[test]
    fn only_the_sleep_inside_the_window_counts() {
        let wait = Interval {
            start_ns: 100,
            end_ns: 200,
            run_queue_ns: 30,
        };
        for (floor, expected) in [(0, 70), (100, 70), (150, 20), (170, 0), (500, 0)] {
            assert_eq!(wait.ns_after(floor), expected, "from {floor}");
        }
    }

    #[test]
    fn a_wait_across_the_start_of_a_window_belongs_to_it_with_its_later_part() {
        let mut clock = WaitClock::new().unwrap();
        let middle = monotonic_ns() + 20_000_000;
        clock.time(WaitEvent::CpuQuantum, || {
            std::thread::sleep(Duration::from_millis(60))
        });
        let event = WaitEvent::CpuQuantum as usize;
        let (counts, ns) = clock.as_of(middle);
        assert_eq!((clock.counts[event], counts[event]), (1, 0));
        let inside = clock.ns[event] - ns[event];
        let before = ns[event];
        assert!(inside > before, "{inside} ns inside, {before} ns before");
        assert!(
            (19_000_000..=20_000_001).contains(&before),
            "{before} ns before the window"
        );
    }

    #[test]
    fn a_read_across_the_start_of_a_window_is_counted_with_its_statement() {
        let mut clock = WaitClock::new().unwrap();
        let before = monotonic_ns();
        let read = || std::thread::sleep(Duration::from_millis(1));
        clock.time_device(WaitEvent::SequentialRead, read);
        assert_eq!(clock.as_of(before), (clock.counts, clock.ns));
    }
}
