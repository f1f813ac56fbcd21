//! The request for a run, and why a run ended without a result.

use model::exit::ExitCode;
use model::{Machine, ObserverError, Run, counted};

use crate::Plan;

/// Minimum number of trials of a case for a conclusion: fewer than five give no valid interval
/// (`stats::VALUES_MIN`).
pub const TRIALS_MIN: u32 = stats::VALUES_MIN as u32;

/// The request for a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRequest {
    /// Id of the run.
    pub id: String,
    /// Start time, RFC 3339 with offset.
    pub started_at: String,
    /// The machine.
    pub machine: Machine,
    /// What to run.
    pub plan: Plan,
    /// Seed for the order of trials, their data and keys, and the resampling.
    pub seed: u64,
    /// Length of each measured window.
    pub window_s: f64,
    /// Minimum length of each warm-up.
    pub warm_up_s_min: f64,
    /// Maximum length of each warm-up, even if the rate is not yet steady.
    pub warm_up_s_max: f64,
    /// Valid trials of each case before the stop rule applies. With fewer than [`TRIALS_MIN`] there
    /// is no interval, and so no comparison.
    pub trials_min: u32,
    /// Maximum number of valid trials of each case.
    pub trials_max: u32,
    /// Seconds after which no trial starts.
    pub time_bound_s: Option<f64>,
    /// The run ends when the interval of every case's median is within this share of the median on
    /// either side: 0.02 means within 2 %.
    pub half_width_target: f64,
    /// Whether all cases of a round are up at once, with alternating windows.
    pub alternates: bool,
    /// Whether the run drops cases when there is no time for all of them. A matrix must stay
    /// complete.
    pub leaves_out: bool,
}

impl RunRequest {
    /// Validates the request.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let wrong = if self.trials_min == 0 {
            "a run needs at least 1 trial".to_owned()
        } else if self.trials_max < self.trials_min {
            format!(
                "the maximum of {} is below the minimum of {}",
                counted(self.trials_max, "trial"),
                self.trials_min
            )
        } else if !positive(self.window_s) {
            "the window must be longer than 0 seconds".to_owned()
        } else if !(self.warm_up_s_min >= 0.0 && self.warm_up_s_max >= self.warm_up_s_min) {
            "the maximum warm-up must not be shorter than the minimum".to_owned()
        } else if !positive(self.half_width_target) {
            "the target half-width must be greater than 0".to_owned()
        } else if self.time_bound_s.is_some_and(|bound| !positive(bound)) {
            "the time limit must be longer than 0 seconds".to_owned()
        } else if !self
            .plan
            .cases
            .iter()
            .any(|case| case.name == self.plan.baseline)
        {
            format!("the baseline {} is not among the cases", self.plan.baseline)
        } else {
            return Ok(());
        };
        Err(RunError::Request(wrong))
    }
}

/// Why a run ended without a result. The enclosed run holds the finished trials.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The request does not make sense.
    #[error("{0}")]
    Request(String),
    /// An observer failed: numalab does not measure what it cannot store.
    #[error("{}", error.message)]
    Observer {
        /// Its error.
        error: ObserverError,
        /// The run so far.
        run: Box<Run>,
    },
    /// The workload could not go on.
    #[error("{message}")]
    Workload {
        /// Its error.
        message: String,
        /// The exit code it asks for.
        exit_code: ExitCode,
        /// The run so far.
        run: Box<Run>,
    },
}
