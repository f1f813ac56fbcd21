//! What a run is asked to be, and why it ended without a result.

use model::exit::ExitCode;
use model::{Machine, ObserverError, Run};

use crate::Plan;

/// The fewest trials of a case from which something can be said: below five there is no honest
/// interval (`stats::VALUES_MIN`).
pub const TRIALS_MIN: u32 = stats::VALUES_MIN as u32;

/// What a run is asked to be.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRequest {
    /// Id of the run.
    pub id: String,
    /// Start, RFC 3339 with offset.
    pub started_at: String,
    /// The machine.
    pub machine: Machine,
    /// What to run.
    pub plan: Plan,
    /// Seed of the order of trials, of their data and keys, and of the resampling.
    pub seed: u64,
    /// Length of each measured window.
    pub window_s: f64,
    /// Each warm-up lasts at least so long.
    pub warm_up_s_min: f64,
    /// Each warm-up ends after so long even if the rate still moves.
    pub warm_up_s_max: f64,
    /// Valid trials of each case before the stop rule is asked. Below [`TRIALS_MIN`] there is no
    /// interval: a picture, and no comparison.
    pub trials_min: u32,
    /// Valid trials of each case after which it ends in any case.
    pub trials_max: u32,
    /// Seconds after which no trial is begun.
    pub time_bound_s: Option<f64>,
    /// The run ends when every case's interval of the median is within this share of the median
    /// to either side: 0.02 is within 2 %.
    pub half_width_target: f64,
    /// Whether all cases of a round are up at once, and their windows alternate.
    pub alternates: bool,
    /// Whether the run goes on with fewer cases where there is no time for all of them. A matrix is
    /// wanted whole.
    pub leaves_out: bool,
}

impl RunRequest {
    /// Checks what a caller could have got wrong.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let wrong = if self.trials_min == 0 {
            "a run needs trials".to_owned()
        } else if self.trials_max < self.trials_min {
            format!(
                "at most {} trials is fewer than at least {}",
                self.trials_max, self.trials_min
            )
        } else if !positive(self.window_s) {
            "the window must be longer than 0 seconds".to_owned()
        } else if !(self.warm_up_s_min >= 0.0 && self.warm_up_s_max >= self.warm_up_s_min) {
            "the longest warm-up must not be shorter than the shortest".to_owned()
        } else if !positive(self.half_width_target) {
            "the half-width to reach must be more than 0".to_owned()
        } else if self.time_bound_s.is_some_and(|bound| !positive(bound)) {
            "the time bound must be longer than 0 seconds".to_owned()
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

/// Why a run ended without a result. Trials that were finished are in the run that comes with it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The request does not make sense.
    #[error("{0}")]
    Request(String),
    /// An observer could not do its part: a result that cannot be kept is not made.
    #[error("{}", error.message)]
    Observer {
        /// What it said.
        error: ObserverError,
        /// The run so far.
        run: Box<Run>,
    },
    /// The workload could not go on.
    #[error("{message}")]
    Workload {
        /// What it said.
        message: String,
        /// The exit code it asks for.
        exit_code: ExitCode,
        /// The run so far.
        run: Box<Run>,
    },
}
