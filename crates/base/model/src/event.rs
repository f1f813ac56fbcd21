//! What the runner reports to its observers: the progress bar, the store, the log.

use crate::{Calibration, CalibrationPoint, Run, RunStatus, Trial};

/// Something happened in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// The run begins; it has its cases but no trials yet.
    RunStarted {
        /// The run.
        run: &'a Run,
        /// The most trials that count; trials that do not count are repeated.
        trials_at_most: u32,
    },
    /// One point of the sweep of work units was measured.
    CalibrationPoint(CalibrationPoint),
    /// The work unit is known.
    Calibrated(&'a Calibration),
    /// A trial begins.
    TrialStarted {
        /// Name of its case.
        case: &'a str,
        /// Round, from 0.
        round: u32,
        /// Trials made before this one.
        trials_done: u32,
        /// Upper estimate of the seconds that remain of the run.
        seconds_left: f64,
    },
    /// A trial is under way.
    TrialProgress {
        /// What it is doing.
        phase: Phase,
        /// The live figure in the run's metric, if any.
        value: Option<f64>,
    },
    /// A trial ended.
    TrialFinished {
        /// Index of its case in the run.
        case_index: usize,
        /// Name of its case.
        case: &'a str,
        /// The trial.
        trial: &'a Trial,
    },
    /// The run ended.
    RunFinished {
        /// How.
        status: RunStatus,
    },
}

/// What a trial is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Memory is being allocated, placed and filled.
    Loading,
    /// The work runs, not yet measured.
    WarmingUp,
    /// The work runs and is measured.
    Measuring,
}

/// An observer of a run.
pub trait Observer {
    /// Receives one event. An error ends the run: results that cannot be kept are not produced.
    fn observe(&mut self, event: &Event<'_>) -> Result<(), ObserverError>;
}

/// An observer failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObserverError {
    /// What failed and how, as a lower-case fragment.
    pub message: String,
}
