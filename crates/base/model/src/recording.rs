//! A record: what a running target did for a while, with what could explain a difference to
//! another record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BytesByNode, JudgedBy, RunStatus};

/// A record of the load of a running target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordReport {
    /// The target, as the user named it.
    pub target: String,
    /// How work is counted, as the user may ask for it.
    pub metric: String,
    /// One unit of work, in the singular.
    pub unit: String,
    /// What is counted for the mix, in the plural, if anything.
    pub mix_unit: Option<String>,
    /// Which figure says most of a placement: by whether the target was saturated.
    pub judged_by: JudgedBy,
    /// Why that one.
    pub judged_because: String,
    /// How long it was to be, in seconds.
    pub seconds_asked: f64,
    /// Seconds of a window.
    pub window_s: f64,
    /// How it ended.
    pub end: RecordEnd,
    /// What made it end, unless that is the time.
    pub end_because: Option<String>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The windows, oldest first.
    pub windows: Vec<RecordWindow>,
    /// The target at the begin.
    pub begin: RecordedTarget,
    /// The target at the end; `None` where it had ended.
    pub finish: Option<RecordedTarget>,
    /// Settings of the server that matter for placement, by name; empty where unknown.
    pub server_settings: BTreeMap<String, String>,
    /// Settings of the kernel that matter for placement, by name, as the topology has them.
    pub kernel_settings: BTreeMap<String, String>,
    /// Whether reads cost what a table says.
    pub has_emulated_cost: bool,
    /// Anything else the user should know, one sentence each.
    pub notes: Vec<String>,
}

/// How a record ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordEnd {
    /// It goes on, or numalab was killed.
    #[default]
    Unfinished,
    /// The time was over.
    TimeOver,
    /// No window counted from the begin.
    NoCounter,
    /// Another process changed the CPUs or memory nodes that the target may use.
    Changed,
    /// The target ended, or was started again.
    TargetEnded,
    /// Interrupted by the user.
    Interrupted,
}

impl RecordEnd {
    /// The status of a stored run that ended so.
    pub fn status(self) -> RunStatus {
        match self {
            RecordEnd::Unfinished => RunStatus::Unfinished,
            RecordEnd::TimeOver => RunStatus::Bounded,
            RecordEnd::NoCounter | RecordEnd::Changed | RecordEnd::TargetEnded => RunStatus::Failed,
            RecordEnd::Interrupted => RunStatus::Interrupted,
        }
    }
}

/// A window of a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordWindow {
    /// When it began, in seconds since the begin.
    pub at_s: f64,
    /// Its length, in seconds.
    pub seconds: f64,
    /// Units of work; `None` if unknown.
    pub work: Option<u64>,
    /// CPU time of the target, in seconds.
    pub cpu_s: Option<f64>,
    /// What was counted for the mix; `None` if unknown.
    pub mix: Option<u64>,
    /// Seconds that all CPUs of the machine were busy, for whomever; `None` if unknown.
    pub machine_busy_s: Option<f64>,
    /// Why it does not count.
    pub void: Option<String>,
}

/// What a target is and where its memory lies, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedTarget {
    /// Its processes.
    pub processes: u32,
    /// The CPUs that its first process may use.
    pub cpus: String,
    /// The memory nodes that it may use.
    pub memory_nodes: String,
    /// Its memory by node.
    pub bytes_by_node: BytesByNode,
    /// That of huge pages among it.
    pub huge_bytes: u64,
    /// Why the bytes are a lower bound, one sentence each.
    pub gaps: Vec<String>,
}
