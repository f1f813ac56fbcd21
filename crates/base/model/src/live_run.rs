//! A run of live windows: what `numalab try` or `numalab record` measured on the load of a running
//! target, or what `numalab doctor` found, as it is stored.

use serde::{Deserialize, Serialize};

use crate::{KeptDiagnosis, Machine, RecordReport, RunStatus, TryEnd, TryReport};

/// A stored run of live windows.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveRun {
    /// Id, unique within a store.
    pub id: String,
    /// The name the user gave it.
    pub label: Option<String>,
    /// Start, RFC 3339 with offset.
    pub started_at: String,
    /// How it ended, so far.
    pub status: RunStatus,
    /// The machine.
    pub machine: Machine,
    /// What was measured.
    pub measured: LiveMeasured,
}

/// What was measured in live windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LiveMeasured {
    /// A session in which placements were tried.
    Try(TryReport),
    /// A record of the target as it was.
    Record(RecordReport),
    /// What the doctor found: one look, no window.
    Doctor(Box<KeptDiagnosis>),
}

impl LiveRun {
    /// The command that made it, with its target.
    pub fn title(&self) -> String {
        match &self.measured {
            LiveMeasured::Try(report) => format!("try {}", report.target),
            LiveMeasured::Record(report) => format!("record {}", report.target),
            LiveMeasured::Doctor(kept) => match &kept.target {
                Some(target) => format!("doctor {target}"),
                None => "doctor".to_owned(),
            },
        }
    }

    /// The seed of its coins; 0 where there were none.
    pub fn seed(&self) -> u64 {
        match &self.measured {
            LiveMeasured::Try(report) => report.seed,
            LiveMeasured::Record(_) | LiveMeasured::Doctor(_) => 0,
        }
    }

    /// Seconds of a window.
    pub fn window_s(&self) -> f64 {
        match &self.measured {
            LiveMeasured::Try(report) => report.window_s,
            LiveMeasured::Record(report) => report.window_s,
            LiveMeasured::Doctor(_) => 0.0,
        }
    }

    /// Placements that were measured.
    pub fn placements(&self) -> u32 {
        match &self.measured {
            LiveMeasured::Try(report) => report.placements.len() as u32 + 1,
            LiveMeasured::Record(_) | LiveMeasured::Doctor(_) => 1,
        }
    }

    /// Whether any window counts in which something was done.
    pub fn says_something(&self) -> bool {
        let counts = |work: Option<u64>, void: &Option<String>| void.is_none() && work > Some(0);
        match &self.measured {
            LiveMeasured::Try(report) => report.windows.iter().any(|it| counts(it.work, &it.void)),
            LiveMeasured::Record(report) => {
                report.windows.iter().any(|it| counts(it.work, &it.void))
            }
            LiveMeasured::Doctor(_) => true,
        }
    }

    /// Windows that count, and windows that do not; the look of the doctor is one.
    pub fn windows(&self) -> (u32, u32) {
        let count = |voids: &mut dyn Iterator<Item = bool>| {
            voids.fold((0, 0), |(valid, void), is_void| match is_void {
                true => (valid, void + 1),
                false => (valid + 1, void),
            })
        };
        match &self.measured {
            LiveMeasured::Try(report) => {
                count(&mut report.windows.iter().map(|it| it.void.is_some()))
            }
            LiveMeasured::Record(report) => {
                count(&mut report.windows.iter().map(|it| it.void.is_some()))
            }
            LiveMeasured::Doctor(_) => (1, 0),
        }
    }
}

impl TryEnd {
    /// The status of a stored run that ended so.
    pub fn status(self) -> RunStatus {
        match self {
            TryEnd::Planned => RunStatus::Unfinished,
            TryEnd::Decided => RunStatus::Settled,
            TryEnd::TimeOver => RunStatus::Bounded,
            TryEnd::Interrupted => RunStatus::Interrupted,
            TryEnd::NoCounter | TryEnd::Vetoed | TryEnd::TargetEnded => RunStatus::Failed,
        }
    }
}
