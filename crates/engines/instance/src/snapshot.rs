//! Counters of a session at one point in time, and the publishing of the difference between two.

use std::sync::atomic::{AtomicU64, Ordering};

use linux::clock::{monotonic_ns, process_cpu_ns, process_kernel_cpu_ns};

/// How often to read the clocks again if the session was off its CPU meanwhile.
const ATTEMPTS: u32 = 8;

use crate::buffer_cache::Reader;
use crate::layout::{SessionResult, WAIT_EVENTS};

/// Counters at one point in time.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot {
    pub at_ns: u64,
    pub cpu_ns: u64,
    pub kernel_cpu_ns: u64,
    pub run_queue_ns: u64,
    /// Work of a load; `None` for logical reads, which have their own counter.
    pub own_work: Option<u64>,
    pub logical_reads: u64,
    pub physical_reads: u64,
    pub statements: u64,
    pub rows: u64,
    pub rows_updated: u64,
    pub wait_counts: [u64; WAIT_EVENTS],
    pub wait_ns: [u64; WAIT_EVENTS],
}

/// Clocks that belong together: no wait for a CPU lies between two of them.
struct Clocks {
    at_ns: u64,
    cpu_ns: u64,
    kernel_cpu_ns: u64,
    run_queue_ns: u64,
}

impl Clocks {
    /// Reads the clocks until the run-queue wait is the same before and after. A session whose CPU
    /// quota is used up stops where it returns from a system call (Linux 6.18,
    /// kernel/sched/fair.c, `throttle_cfs_rq_work`): between two clocks, for nearly a period.
    fn read_together(run_queue_ns: impl Fn() -> u64, monotonic_ns: impl Fn() -> u64) -> Self {
        let mut before = run_queue_ns();
        let mut attempts = 1;
        loop {
            let clocks = Clocks {
                at_ns: monotonic_ns(),
                cpu_ns: process_cpu_ns(),
                kernel_cpu_ns: process_kernel_cpu_ns(),
                run_queue_ns: run_queue_ns(),
            };
            if clocks.run_queue_ns == before || attempts == ATTEMPTS {
                return clocks;
            }
            before = clocks.run_queue_ns;
            attempts += 1;
        }
    }
}

impl Snapshot {
    /// Takes a snapshot of the counters.
    pub(crate) fn take(reader: &Reader<'_>, statements: u64, rows: u64) -> Self {
        let run_queue_ns = || reader.waits.run_queue_ns();
        let clocks = Clocks::read_together(run_queue_ns, monotonic_ns);
        Snapshot {
            at_ns: clocks.at_ns,
            cpu_ns: clocks.cpu_ns,
            kernel_cpu_ns: clocks.kernel_cpu_ns,
            run_queue_ns: clocks.run_queue_ns,
            own_work: None,
            logical_reads: reader.logical_reads,
            physical_reads: reader.physical_reads,
            statements,
            rows,
            rows_updated: reader.rows_updated,
            wait_counts: reader.waits.counts,
            wait_ns: reader.waits.ns,
        }
    }

    /// Publishes the difference between `start` and this snapshot.
    pub(crate) fn publish_since(&self, start: &Snapshot, result: &SessionResult) {
        let set = |field: &AtomicU64, value: u64| field.store(value, Ordering::Relaxed);
        set(&result.start_ns, start.at_ns);
        set(&result.end_ns, self.at_ns);
        set(
            &result.logical_reads,
            self.logical_reads - start.logical_reads,
        );
        set(
            &result.physical_reads,
            self.physical_reads - start.physical_reads,
        );
        set(&result.statements, self.statements - start.statements);
        set(&result.cpu_ns, self.cpu_ns - start.cpu_ns);
        let work = match (self.own_work, start.own_work) {
            (Some(end), Some(start)) => end - start,
            _ => self.logical_reads - start.logical_reads,
        };
        set(&result.work, work);
        let kernel_cpu_ns = self.kernel_cpu_ns.saturating_sub(start.kernel_cpu_ns);
        set(&result.kernel_cpu_ns, kernel_cpu_ns);
        let run_queue_ns = self.run_queue_ns.saturating_sub(start.run_queue_ns);
        set(&result.run_queue_ns, run_queue_ns);
        set(&result.rows_verified, self.rows - start.rows);
        let rows_updated = self.rows_updated - start.rows_updated;
        set(&result.rows_updated, rows_updated);
        for event in 0..WAIT_EVENTS {
            let wait = &result.waits[event];
            set(
                &wait.count,
                self.wait_counts[event] - start.wait_counts[event],
            );
            set(
                &wait.ns,
                self.wait_ns[event].saturating_sub(start.wait_ns[event]),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{ATTEMPTS, Clocks};

    #[test]
    fn a_wait_for_a_cpu_between_two_clocks_has_them_read_again() {
        let check = |waits: &[u64], expected: (u64, u64)| {
            let (reads, times) = (Cell::new(0), Cell::new(0));
            let run_queue_ns = || {
                let read = reads.replace(reads.get() + 1);
                waits[read.min(waits.len() - 1)]
            };
            let monotonic_ns = || {
                times.set(times.get() + 1);
                times.get()
            };
            let clocks = Clocks::read_together(run_queue_ns, monotonic_ns);
            assert_eq!((clocks.at_ns, clocks.run_queue_ns), expected);
        };
        check(&[5], (1, 5));
        check(&[5, 95, 95], (2, 95));
        let always: Vec<u64> = (0..100).collect();
        check(&always, (u64::from(ATTEMPTS), u64::from(ATTEMPTS)));
    }
}
