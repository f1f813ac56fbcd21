//! What the runner asks of an engine: find a work unit if there is one, execute a trial.

use model::exit::ExitCode;
use model::{Calibration, CalibrationPoint, CasePlan, Phase, Trial};

use crate::Cancel;

/// Something that can execute trials of a case.
///
/// Implemented by the adapter of each engine, and by [`crate::workloads::Simulated`].
pub trait Workload {
    /// Rows of each table of a case, which bound its work unit; `None` where nothing does.
    fn rows_per_table(&mut self, _case: &CasePlan) -> Option<u32> {
        None
    }

    /// Finds the work unit at which the memory is measured and not the executor, on the case
    /// given; `None` where the work has no such unit.
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
    /// A trial that dies, or whose evidence contradicts its placement, is `Ok` with an outcome
    /// that says so; the run goes on. An error ends the run.
    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError>;

    /// Executes one trial of each case, all of them up at once; their windows alternate, and who
    /// has none sleeps. `None` where the workload cannot do that.
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

/// What a round of trials is to be like, apart from its cases.
#[derive(Clone, Copy)]
pub struct RoundSpec<'r> {
    /// What each trial is to be like; its window is the length of all windows of a trial together.
    pub trial: TrialSpec,
    /// Seed of the order of windows.
    pub order_seed: u64,
    /// Whether the time of the run is up: then a round ends as soon as it can.
    pub is_over: &'r dyn Fn() -> bool,
}

/// What a calibration is to be like, apart from its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalibrationSpec {
    /// Seed of the physical order of rows and of the keys that are read.
    pub seed: u64,
    /// Rows of the smallest table of any case of the run: all cases get the work unit, and the
    /// calibration's one session may have a larger table. `None`: no bound.
    pub rows_max: Option<u32>,
}

/// What one trial is to be like, apart from its case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialSpec {
    /// Round of the run, from 0.
    pub round: u32,
    /// Seed of the physical order of rows and of the keys that are read. All cases of a round get
    /// the same one, so that they differ in placement only.
    pub seed: u64,
    /// Rows per statement; `None` where the work has no such unit.
    pub work_unit: Option<u32>,
    /// Length of the measured window.
    pub window_s: f64,
    /// The warm-up lasts at least so long.
    pub warm_up_s_min: f64,
    /// The warm-up ends after so long even if the rate still moves.
    pub warm_up_s_max: f64,
}

/// Why a workload ends a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// It was told to stop.
    #[error("cancelled")]
    Cancelled,
    /// It cannot go on, and no other trial will do better.
    #[error("{message}")]
    Fatal {
        /// What failed and how, as a lower-case fragment.
        message: String,
        /// The exit code of the run.
        exit_code: ExitCode,
    },
}
