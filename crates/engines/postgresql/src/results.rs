//! The result of a trial, before its placement is judged.

use std::collections::BTreeMap;

use model::{CpuSet, HugePoolEvidence, NodeId, Sample, SessionEvidence, SgaEvidence};

use crate::CounterCheck;

/// The result of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    /// The windows of the sessions.
    pub windows: Vec<Window>,
    /// Length of the warm-up.
    pub warm_up_s: f64,
    /// Whether the rate was steady at the end of the warm-up.
    pub was_steady: bool,
    /// Shared buffer hits per statement.
    pub hits_per_statement: f64,
    /// Live samples.
    pub samples: Vec<Sample>,
    /// The server's counters compared with numalab's.
    pub checks: Vec<CounterCheck>,
    /// Blocks of the tables and their indexes that were read from outside the shared buffers.
    pub table_reads: u64,
    /// Where the blocks of the shared buffers lie; `None` if that is not visible.
    pub buffers: Option<SgaEvidence>,
    /// The backends, in order of session.
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
    pub fn logical_reads_per_s(&self) -> f64 {
        let rate = |window: &Window| window.statements as f64 / window.seconds;
        self.windows.iter().map(rate).sum::<f64>() * self.hits_per_statement
    }

    /// Returns the statements of all sessions.
    pub fn statements(&self) -> u64 {
        self.windows.iter().map(|window| window.statements).sum()
    }

    /// Returns the logical reads of all sessions.
    pub fn logical_reads(&self) -> u64 {
        (self.statements() as f64 * self.hits_per_statement).round() as u64
    }
}

/// Bytes by node.
pub(crate) type ByNode = BTreeMap<NodeId, u64>;
