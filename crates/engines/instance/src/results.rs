//! Sums the results that the sessions published.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{LatencySummary, Measured, Sample, SessionFigures, TimeModel, Wait};

use crate::histogram;
use crate::layout::{HISTOGRAM_BUCKETS, SessionSlot, WAIT_EVENTS, WAIT_NAMES};
use crate::order::{InstanceOrder, Task};
use crate::sga::Sga;

/// Sums over all sessions, and over windows.
pub(crate) struct Total {
    windows: u32,
    pub rows_verified: u64,
    pub rows_wrong: u64,
    pub rows_updated: u64,
    statements: u64,
    logical_reads: u64,
    physical_reads: u64,
    work: u64,
    work_per_s: f64,
    db_time_ns: u64,
    db_cpu_ns: u64,
    kernel_cpu_ns: u64,
    run_queue_ns: u64,
    wait_counts: [u64; WAIT_EVENTS],
    wait_ns: [u64; WAIT_EVENTS],
    latency: [u64; HISTOGRAM_BUCKETS],
    latency_max_ns: u64,
}

/// Sums the published results of every session.
pub(crate) fn collect(sga: &Sga<'_>) -> Total {
    let mut total = Total::of_no_window();
    total.windows = 1;
    sga.session_slots().iter().for_each(|slot| total.add(slot));
    total
}

impl Total {
    /// Returns the sums of no window.
    pub(crate) fn of_no_window() -> Self {
        Total {
            windows: 0,
            rows_verified: 0,
            rows_wrong: 0,
            rows_updated: 0,
            statements: 0,
            logical_reads: 0,
            physical_reads: 0,
            work: 0,
            work_per_s: 0.0,
            db_time_ns: 0,
            db_cpu_ns: 0,
            kernel_cpu_ns: 0,
            run_queue_ns: 0,
            wait_counts: [0; WAIT_EVENTS],
            wait_ns: [0; WAIT_EVENTS],
            latency: [0; HISTOGRAM_BUCKETS],
            latency_max_ns: 0,
        }
    }

    /// Adds another window.
    pub(crate) fn absorb(&mut self, window: &Total) {
        self.windows += window.windows;
        self.rows_verified += window.rows_verified;
        self.rows_wrong += window.rows_wrong;
        self.rows_updated += window.rows_updated;
        self.statements += window.statements;
        self.logical_reads += window.logical_reads;
        self.physical_reads += window.physical_reads;
        self.work += window.work;
        self.work_per_s += window.work_per_s;
        self.db_time_ns += window.db_time_ns;
        self.db_cpu_ns += window.db_cpu_ns;
        self.kernel_cpu_ns += window.kernel_cpu_ns;
        self.run_queue_ns += window.run_queue_ns;
        for event in 0..WAIT_EVENTS {
            self.wait_counts[event] += window.wait_counts[event];
            self.wait_ns[event] += window.wait_ns[event];
        }
        for (sum, count) in self.latency.iter_mut().zip(&window.latency) {
            *sum += count;
        }
        self.latency_max_ns = self.latency_max_ns.max(window.latency_max_ns);
    }

    /// Returns the work of all sessions per second: the mean over windows, which are equally long.
    pub(crate) fn work_per_s(&self) -> f64 {
        self.work_per_s / f64::from(self.windows.max(1))
    }

    fn add(&mut self, slot: &SessionSlot) {
        let get = |field: &AtomicU64| field.load(Ordering::Relaxed);
        let result = &slot.result;
        let wall_ns = get(&result.ns);
        let work = get(&result.work);
        self.rows_verified += get(&result.rows_verified);
        self.rows_wrong += get(&result.rows_wrong);
        self.rows_updated += get(&result.rows_updated);
        self.statements += get(&result.statements);
        self.logical_reads += get(&result.logical_reads);
        self.work += work;
        self.physical_reads += get(&result.physical_reads);
        self.work_per_s += work as f64 / (wall_ns.max(1) as f64 / 1e9);
        self.db_time_ns += wall_ns;
        self.db_cpu_ns += get(&result.cpu_ns);
        self.kernel_cpu_ns += get(&result.kernel_cpu_ns);
        self.run_queue_ns += get(&result.run_queue_ns);
        for event in 0..WAIT_EVENTS {
            self.wait_counts[event] += get(&result.waits[event].count);
            self.wait_ns[event] += get(&result.waits[event].ns);
        }
        for (sum, count) in self.latency.iter_mut().zip(&result.latency) {
            *sum += get(count);
        }
        self.latency_max_ns = self.latency_max_ns.max(get(&result.latency_max_ns));
    }

    /// Returns the sums as the figures of a trial.
    pub(crate) fn measured(
        &self,
        order: &InstanceOrder,
        warm_up_s: f64,
        window_s: f64,
        samples: Vec<Sample>,
    ) -> Measured {
        Measured {
            value: self.value(order),
            window_s: Some(window_s),
            warm_up_s: Some(warm_up_s),
            sessions: Some(self.sessions(order, samples)),
            kernel: None,
        }
    }

    /// Returns the figure in the metric of the work: work per second or the time of a piece.
    fn value(&self, order: &InstanceOrder) -> f64 {
        let load = order.own.as_ref().map(|own| own.load);
        match load.is_some_and(|load| load.metric().facts().is_ns_per_piece) {
            true => self.db_time_ns as f64 / self.work.max(1) as f64,
            false => self.work_per_s(),
        }
    }

    /// Returns the figures of the sessions.
    pub(crate) fn sessions(&self, order: &InstanceOrder, samples: Vec<Sample>) -> SessionFigures {
        let work_unit = match order.task {
            Task::Trial { work_unit, .. }
            | Task::Windows { work_unit, .. }
            | Task::Hold { work_unit, .. } => work_unit,
            Task::Calibration { work_unit_max, .. } => work_unit_max,
            Task::Scan { .. } => 0,
        };
        let quantile = |share| histogram::quantile(&self.latency, share);
        SessionFigures {
            sessions: order.work.load.sessions,
            work_unit,
            statements: self.statements,
            logical_reads: self.logical_reads,
            physical_reads: self.physical_reads,
            updates: None,
            time: self.time_model(),
            samples,
            statement_latency: LatencySummary {
                p50_ns: quantile(0.5),
                p99_ns: quantile(0.99),
                max_ns: (self.latency_max_ns > 0).then_some(self.latency_max_ns),
            },
        }
    }

    /// Returns the mean measured time of a session, in seconds.
    pub(crate) fn seconds_of_a_session(&self, sessions: u32) -> f64 {
        self.db_time_ns as f64 / 1e9 / f64::from(sessions.max(1))
    }

    /// Returns the mean time of a statement, in seconds.
    pub(crate) fn statement_s(&self) -> f64 {
        self.db_time_ns as f64 / 1e9 / self.statements.max(1) as f64
    }

    /// Returns the CPU time of all sessions.
    pub(crate) fn db_cpu_s(&self) -> f64 {
        self.db_cpu_ns as f64 / 1e9
    }

    fn time_model(&self) -> TimeModel {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let met = (0..WAIT_EVENTS)
            .filter(|event| self.wait_counts[*event] > 0 || self.wait_ns[*event] > 0);
        let waits: BTreeMap<String, Wait> = met
            .map(|event| {
                let count = self.wait_counts[event];
                let total_s = seconds(self.wait_ns[event]);
                (WAIT_NAMES[event].to_owned(), Wait { count, total_s })
            })
            .collect();
        TimeModel {
            db_time_s: seconds(self.db_time_ns),
            db_cpu_s: self.db_cpu_s(),
            cpu_wait_s: seconds(self.run_queue_ns),
            kernel_cpu_s: Some(seconds(self.kernel_cpu_ns)),
            waits,
        }
    }
}
