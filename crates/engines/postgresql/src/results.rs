//! What a trial found, before anybody judges the placement.

use std::collections::BTreeMap;

use model::{CpuSet, HugePoolEvidence, NodeId, Sample, SessionEvidence, SgaEvidence};

use crate::CounterCheck;

/// What a trial found.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialResult {
    /// The windows of the sessions.
    pub windows: Vec<Window>,
    /// Length of the warm-up.
    pub warm_up_s: f64,
    /// Whether the rate was steady at its end.
    pub was_steady: bool,
    /// Hits of one statement.
    pub hits_per_statement: f64,
    /// Live samples.
    pub samples: Vec<Sample>,
    /// The server's counts against ours.
    pub checks: Vec<CounterCheck>,
    /// Blocks of the tables and their indexes that were read from outside the shared buffers.
    pub table_reads: u64,
    /// Where the blocks of the shared buffers lie; `None` when that cannot be seen.
    pub buffers: Option<SgaEvidence>,
    /// The backends, in order of session.
    pub sessions: Vec<SessionEvidence>,
    /// Pools of huge pages before the server was started.
    pub huge_pages_before: Vec<HugePoolEvidence>,
    /// Pools of huge pages while it ran.
    pub huge_pages_during: Vec<HugePoolEvidence>,
    /// Counters of the machine: pages moved, time stolen, CPU time of others.
    pub machine: MachineGain,
    /// Reasons why the trial does not count, apart from its placement.
    pub contradictions: Vec<String>,
    /// What could not be seen.
    pub remarks: Vec<String>,
}

/// What the machine's counters gained during the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineGain {
    /// `numa_pages_migrated`.
    pub pages_migrated: Option<u64>,
    /// Time the hypervisor took.
    pub steal_s: Option<f64>,
    /// CPU time of anything but the sessions.
    pub other_cpu_s: Option<f64>,
}

/// The window of one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Statements that ended in it.
    pub statements: u64,
    /// Its length by the session's own two clock readings.
    pub seconds: f64,
    /// The longest statement, s.
    pub longest_s: f64,
    /// Time on a CPU; `None` where it cannot be read.
    pub cpu_s: Option<f64>,
    /// Time on a run queue.
    pub run_queue_s: Option<f64>,
    /// Statements of the whole call, margins included.
    pub statements_of_call: u64,
    /// CPUs on which it was seen.
    pub cpus_used: CpuSet,
}

impl TrialResult {
    /// The sum of the sessions' own rates.
    pub fn logical_reads_per_s(&self) -> f64 {
        let rate = |window: &Window| window.statements as f64 / window.seconds;
        self.windows.iter().map(rate).sum::<f64>() * self.hits_per_statement
    }

    /// Statements of all sessions.
    pub fn statements(&self) -> u64 {
        self.windows.iter().map(|window| window.statements).sum()
    }

    /// Logical reads of all sessions.
    pub fn logical_reads(&self) -> u64 {
        (self.statements() as f64 * self.hits_per_statement).round() as u64
    }
}

/// Bytes by node.
pub(crate) type ByNode = BTreeMap<NodeId, u64>;
