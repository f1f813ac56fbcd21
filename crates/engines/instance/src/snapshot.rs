//! Counters of a session at one point in time, and what it did between two.

use std::sync::atomic::{AtomicU64, Ordering};

use linux::clock::{monotonic_ns, process_cpu_ns, process_kernel_cpu_ns};

/// How often to read the clocks again if the session was off its CPU meanwhile.
const ATTEMPTS: u32 = 8;

use crate::buffer_cache::Reader;
use crate::layout::{SessionResult, WAIT_EVENTS};

/// Counters at one point in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snapshot {
    pub at_ns: u64,
    /// How long after `at_ns` the statement ended after which the counters were read.
    late_ns: u64,
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

/// Counts and times of the named waits.
type Waits = ([u64; WAIT_EVENTS], [u64; WAIT_EVENTS]);

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
    pub(crate) fn take(
        reader: &Reader<'_>,
        own_work: Option<u64>,
        statements: u64,
        rows: u64,
    ) -> Self {
        let run_queue_ns = || reader.waits.run_queue_ns();
        let clocks = Clocks::read_together(run_queue_ns, monotonic_ns);
        Snapshot {
            at_ns: clocks.at_ns,
            late_ns: 0,
            cpu_ns: clocks.cpu_ns,
            kernel_cpu_ns: clocks.kernel_cpu_ns,
            run_queue_ns: clocks.run_queue_ns,
            own_work,
            logical_reads: reader.logical_reads,
            physical_reads: reader.physical_reads,
            statements,
            rows,
            rows_updated: reader.rows_updated,
            wait_counts: reader.waits.counts,
            wait_ns: reader.waits.ns,
        }
    }

    /// Makes this the snapshot of an earlier moment, which passed during the last statement: a
    /// window then has its length, and holds the statements that ended in it, also where a session
    /// waited for a CPU when it began.
    pub(crate) fn as_of(self, at_ns: u64) -> Self {
        Snapshot {
            at_ns,
            late_ns: self.at_ns.saturating_sub(at_ns),
            ..self
        }
    }

    /// Makes this the snapshot of an earlier moment, which passed during named waits or while the
    /// session was parked, given the counts and times of waits at that moment.
    pub(crate) fn after_waits(self, at_ns: u64, (wait_counts, wait_ns): Waits) -> Self {
        let named = self.wait_ns.iter().zip(&wait_ns);
        let named_ns: u64 = named.map(|(now, then)| now.saturating_sub(*then)).sum();
        Snapshot {
            at_ns,
            late_ns: self.at_ns.saturating_sub(at_ns + named_ns),
            wait_counts,
            wait_ns,
            ..self
        }
    }

    /// Publishes the difference between `start` and this snapshot.
    pub(crate) fn publish_since(&self, start: &Snapshot, result: &SessionResult) {
        let mut done = Done::default();
        done.add(start, self);
        done.publish(result);
    }
}

/// What a session did in one window or several.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    ns: u64,
    work: u64,
    cpu_ns: u64,
    kernel_cpu_ns: u64,
    run_queue_ns: u64,
    logical_reads: u64,
    physical_reads: u64,
    statements: u64,
    rows: u64,
    rows_updated: u64,
    wait_counts: [u64; WAIT_EVENTS],
    wait_ns: [u64; WAIT_EVENTS],
}

impl Done {
    /// Adds a window, and returns its work.
    pub(crate) fn add(&mut self, start: &Snapshot, end: &Snapshot) -> u64 {
        let work = match (end.own_work, start.own_work) {
            (Some(end), Some(start)) => end - start,
            _ => end.logical_reads - start.logical_reads,
        };
        let (statements, cpu_ns) = (end.statements - start.statements, end.cpu_ns - start.cpu_ns);
        let statement_ns = cpu_ns / statements.max(1);
        // A statement that was much later than it takes waited for a CPU.
        let waited_ns = |late_ns: u64| late_ns.saturating_sub(statement_ns);
        let queued_at_start = start.run_queue_ns + waited_ns(end.late_ns);
        let queued_at_end = end.run_queue_ns + waited_ns(start.late_ns);
        self.ns += end.at_ns.saturating_sub(start.at_ns);
        self.work += work;
        self.cpu_ns += cpu_ns;
        self.kernel_cpu_ns += end.kernel_cpu_ns.saturating_sub(start.kernel_cpu_ns);
        self.run_queue_ns += queued_at_end.saturating_sub(queued_at_start);
        self.logical_reads += end.logical_reads - start.logical_reads;
        self.physical_reads += end.physical_reads - start.physical_reads;
        self.statements += statements;
        self.rows += end.rows - start.rows;
        self.rows_updated += end.rows_updated - start.rows_updated;
        for event in 0..WAIT_EVENTS {
            self.wait_counts[event] += end.wait_counts[event] - start.wait_counts[event];
            self.wait_ns[event] += end.wait_ns[event].saturating_sub(start.wait_ns[event]);
        }
        work
    }

    /// Publishes the sums.
    pub(crate) fn publish(&self, result: &SessionResult) {
        let set = |field: &AtomicU64, value: u64| field.store(value, Ordering::Relaxed);
        set(&result.ns, self.ns);
        set(&result.work, self.work);
        set(&result.cpu_ns, self.cpu_ns);
        set(&result.kernel_cpu_ns, self.kernel_cpu_ns);
        set(&result.run_queue_ns, self.run_queue_ns);
        set(&result.logical_reads, self.logical_reads);
        set(&result.physical_reads, self.physical_reads);
        set(&result.statements, self.statements);
        set(&result.rows_verified, self.rows);
        set(&result.rows_updated, self.rows_updated);
        for (wait, (count, ns)) in result
            .waits
            .iter()
            .zip(self.wait_counts.iter().zip(self.wait_ns))
        {
            set(&wait.count, *count);
            set(&wait.ns, ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{ATTEMPTS, Clocks, Done, Snapshot};
    use crate::layout::WAIT_EVENTS;

    /// A snapshot after so many statements of 100 ns, and so much waiting for a CPU.
    fn snapshot(at_ns: u64, statements: u64, run_queue_ns: u64) -> Snapshot {
        Snapshot {
            at_ns,
            late_ns: 0,
            cpu_ns: 100 * statements,
            kernel_cpu_ns: 0,
            run_queue_ns,
            own_work: None,
            logical_reads: 10 * statements,
            physical_reads: 0,
            statements,
            rows: 0,
            rows_updated: 0,
            wait_counts: [0; WAIT_EVENTS],
            wait_ns: [0; WAIT_EVENTS],
        }
    }

    #[test]
    fn a_window_has_its_length_and_what_a_session_waited_in_it() {
        let check = |start: Snapshot, end: Snapshot, (work, run_queue_ns): (u64, u64)| {
            let mut done = Done::default();
            assert_eq!(done.add(&start, &end), work);
            assert_eq!((done.ns, done.run_queue_ns), (10_000, run_queue_ns));
        };
        // A window from 20,000 to 30,000, and a session that runs throughout.
        let start = snapshot(20_050, 5, 700).as_of(20_000);
        check(start, snapshot(30_050, 105, 700).as_of(30_000), (1000, 0));
        // It gets a CPU after 4,000 ns, having waited for 6,000, and loses it 1,000 before the end.
        let start = snapshot(24_000, 5, 6700).as_of(20_000);
        check(start, snapshot(32_000, 55, 9700).as_of(30_000), (500, 5000));
        // It waits throughout.
        let late = snapshot(35_000, 5, 90_000);
        check(late.as_of(20_000), late.as_of(30_000), (0, 10_000));
        // It is woken for its turn after 4,000 ns, of which 3,000 in a named wait.
        let mut woken = snapshot(24_000, 5, 6700);
        woken.wait_ns[0] = 3000;
        let start = woken.after_waits(20_000, ([0; WAIT_EVENTS], [0; WAIT_EVENTS]));
        let mut end = snapshot(30_000, 65, 6700);
        end.wait_ns[0] = 3000;
        check(start, end, (600, 900));
    }

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
