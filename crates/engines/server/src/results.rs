//! The result of a trial, and what of it is stored, before its placement is judged.

use model::{
    CounterEvidence, CpuSet, Evidence, HugePoolEvidence, LatencySummary, Measured, Outcome, Sample,
    SessionEvidence, SessionFigures, SgaEvidence, TimeModel, Trial,
};

use crate::{CounterCheck, TrialOrder};

/// CPUs that other processes may use during a window before the trial carries a warning.
const OTHER_CPUS_MAX: f64 = 0.1;

/// The result of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    /// The windows of the sessions.
    pub windows: Vec<Window>,
    /// Length of the warm-up.
    pub warm_up_s: f64,
    /// Whether the rate was steady at the end of the warm-up.
    pub was_steady: bool,
    /// Logical reads per statement.
    pub hits_per_statement: f64,
    /// Live samples.
    pub samples: Vec<Sample>,
    /// The server's counters compared with numalab's.
    pub checks: Vec<CounterCheck>,
    /// Blocks of the tables and their indexes that were read from outside the cache.
    pub table_reads: u64,
    /// Where the cache lies; `None` if that is not visible.
    pub buffers: Option<SgaEvidence>,
    /// The processes or threads that do the work of sessions, in order of session.
    pub sessions: Vec<SessionEvidence>,
    /// Pools of huge pages before the server was started.
    pub huge_pages_before: Vec<HugePoolEvidence>,
    /// Pools of huge pages while it ran.
    pub huge_pages_during: Vec<HugePoolEvidence>,
    /// Counters of the machine: pages migrated, steal time, CPU time of others.
    pub machine: MachineGain,
    /// Reasons why the trial does not count, other than its placement.
    pub contradictions: Vec<String>,
    /// What was not visible.
    pub remarks: Vec<String>,
}

/// Increase of the machine's counters during the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineGain {
    /// `numa_pages_migrated`.
    pub pages_migrated: Option<u64>,
    /// Steal time.
    pub steal_s: Option<f64>,
    /// CPU time of everything except the sessions.
    pub other_cpu_s: Option<f64>,
}

/// The window of one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Statements that ended in it.
    pub statements: u64,
    /// Its length by the session's own clock.
    pub seconds: f64,
    /// The longest statement, s.
    pub longest_s: f64,
    /// Time on a CPU; `None` if it cannot be read.
    pub cpu_s: Option<f64>,
    /// Time on a run queue.
    pub run_queue_s: Option<f64>,
    /// Statements of the whole call, including before and after the window.
    pub statements_of_call: u64,
    /// CPUs on which the session was seen.
    pub cpus_used: CpuSet,
}

impl TrialResult {
    /// Returns the sum of the sessions' rates.
    fn logical_reads_per_s(&self) -> f64 {
        let rate = |window: &Window| window.statements as f64 / window.seconds;
        self.windows.iter().map(rate).sum::<f64>() * self.hits_per_statement
    }

    /// Returns the statements of all sessions.
    fn statements(&self) -> u64 {
        self.windows.iter().map(|window| window.statements).sum()
    }

    /// Returns the logical reads of all sessions.
    fn logical_reads(&self) -> u64 {
        (self.statements() as f64 * self.hits_per_statement).round() as u64
    }

    /// Returns the trial to be stored.
    pub fn trial(&self, round: u32, order: &TrialOrder) -> Trial {
        let mut warnings = self.remarks.clone();
        if !self.was_steady {
            let seconds = self.warm_up_s;
            warnings.push(format!(
                "the rate was not steady after {seconds:.1} s of warm-up"
            ));
        }
        let other_s = self.machine.other_cpu_s.unwrap_or(0.0);
        if other_s > order.window_s * OTHER_CPUS_MAX {
            let window_s = order.window_s;
            warnings.push(format!(
                "other processes used {other_s:.1} s of CPU in the window of {window_s:.1} s"
            ));
        }
        let counters = self.checks.iter().map(|check| CounterEvidence {
            source: check.source.to_owned(),
            counted: check.hits,
            expected: check.expected,
        });
        let evidence = Evidence {
            counters: counters.collect(),
            huge_pages_before: self.huge_pages_before.clone(),
            huge_pages_during: self.huge_pages_during.clone(),
            numa_pages_migrated: self.machine.pages_migrated,
            steal_s: self.machine.steal_s,
            other_cpu_s: self.machine.other_cpu_s,
            rows_verified: self.statements() * u64::from(order.work_unit),
            sessions: self.sessions.clone(),
            sga: self.buffers.clone(),
            ..Evidence::default()
        };
        Trial {
            round,
            outcome: match self.contradictions.is_empty() {
                true => Outcome::Valid,
                false => Outcome::Invalid(self.contradictions.join("; ")),
            },
            measured: Some(self.measured(order)),
            evidence,
            warnings,
            report: None,
        }
    }

    fn measured(&self, order: &TrialOrder) -> Measured {
        let longest_s = self.windows.iter().map(|window| window.longest_s);
        let longest_s = longest_s.fold(0.0, f64::max);
        let time = TimeModel {
            db_time_s: self.windows.iter().map(|window| window.seconds).sum(),
            db_cpu_s: self.windows.iter().filter_map(|window| window.cpu_s).sum(),
            cpu_wait_s: self.windows.iter().filter_map(|it| it.run_queue_s).sum(),
            kernel_cpu_s: None,
            waits: Default::default(),
        };
        Measured {
            value: self.logical_reads_per_s(),
            window_s: Some(order.window_s),
            warm_up_s: Some(self.warm_up_s),
            sessions: Some(SessionFigures {
                sessions: self.windows.len() as u32,
                work_unit: order.work_unit,
                statements: self.statements(),
                logical_reads: self.logical_reads(),
                physical_reads: self.table_reads,
                updates: None,
                time,
                samples: self.samples.clone(),
                statement_latency: LatencySummary {
                    p50_ns: None,
                    p99_ns: None,
                    max_ns: Some((longest_s * 1e9) as u64),
                },
            }),
            kernel: None,
        }
    }
}
