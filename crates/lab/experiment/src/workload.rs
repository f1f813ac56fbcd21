//! The interface between runner and engine: calibrate the work unit, execute trials.

use model::exit::ExitCode;
use model::{Calibration, CalibrationPoint, CasePlan, Phase, Trial};

use crate::Cancel;

/// Something that can execute trials of a case.
///
/// Implemented by the adapter of each engine, and by [`crate::workloads::Simulated`].
pub trait Workload {
    /// Returns the rows of each table of a case, which bound its work unit; `None` means no bound.
    fn rows_per_table(&mut self, _case: &CasePlan) -> Option<u32> {
        None
    }

    /// Finds, with the given case, the work unit that measures the memory and not the executor.
    /// Returns `None` where the work has no such unit.
    fn calibrate(
        &mut self,
        _case: &CasePlan,
        _spec: &CalibrationSpec,
        _on_point: &mut dyn FnMut(CalibrationPoint),
        _cancel: &Cancel,
    ) -> Result<Option<Calibration>, WorkloadError> {
        Ok(None)
    }

    /// Executes one trial: fresh processes, fresh memory, placement read back.
    ///
    /// A trial that dies, or whose evidence contradicts its placement, returns `Ok` with an outcome
    /// that says so, and the run goes on. An error ends the run.
    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError>;

    /// Executes one trial of each case, with all cases up at once and their windows alternating; a
    /// case without an open window sleeps. Returns `None` where the workload cannot alternate.
    ///
    /// # Errors
    /// As [`Workload::trial`].
    fn round(
        &mut self,
        _cases: &[&CasePlan],
        _spec: &RoundSpec<'_>,
        _live: &mut dyn FnMut(Phase, Option<f64>),
        _cancel: &Cancel,
    ) -> Result<Option<Vec<Trial>>, WorkloadError> {
        Ok(None)
    }
}

/// The parameters of a round of trials, apart from its cases.
#[derive(Clone, Copy)]
pub struct RoundSpec<'r> {
    /// The parameters of each trial; `window_s` is the total length of all windows of a trial.
    pub trial: TrialSpec,
    /// Seed for the order of windows.
    pub order_seed: u64,
    /// Returns whether the round has used its share of the run's time; it then ends as soon as it
    /// can.
    pub is_over: &'r dyn Fn() -> bool,
}

/// The parameters of a calibration, apart from its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalibrationSpec {
    /// Seed of the physical order of rows and of the keys that are read.
    pub seed: u64,
    /// Rows of the smallest table of any case of the run: all cases use the work unit, and the
    /// table of the calibration's single session may be larger. `None`: no bound.
    pub rows_max: Option<u32>,
}

/// The parameters of one trial, apart from its case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialSpec {
    /// Number of the round, from 0.
    pub round: u32,
    /// Seed of the physical order of rows and of the keys that are read. All cases of a round use
    /// the same seed, so that they differ only in placement.
    pub seed: u64,
    /// Rows per statement; `None` where the work has no such unit.
    pub work_unit: Option<u32>,
    /// Length of the measured window.
    pub window_s: f64,
    /// Minimum length of the warm-up.
    pub warm_up_s_min: f64,
    /// Maximum length of the warm-up, even if the rate is not yet steady.
    pub warm_up_s_max: f64,
}

/// Why a workload ends a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// It cannot go on, and another trial would fail the same way.
    #[error("{message}")]
    Fatal {
        /// What failed and how, as a lower-case fragment.
        message: String,
        /// The exit code of the run.
        exit_code: ExitCode,
    },
}
