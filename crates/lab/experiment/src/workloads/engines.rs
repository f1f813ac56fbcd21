//! All engines as one workload: each case goes to the engine that does its work.

use model::{Calibration, CalibrationPoint, CasePlan, Phase, Trial, Work};

use crate::{CalibrationSpec, Cancel, RoundSpec, TrialSpec, Workload, WorkloadError};

/// The engines, each for its kind of work.
pub struct Engines<'w> {
    /// Sessions of the embedded instance.
    pub instance: &'w mut dyn Workload,
    /// Sessions of database servers.
    pub servers: &'w mut dyn Workload,
    /// External programs.
    pub command: &'w mut dyn Workload,
    /// The measuring kernels.
    pub kernels: &'w mut dyn Workload,
    /// Why the machine is not fit to be measured, if it is measured anyway; stored with every
    /// trial.
    pub warnings: &'w [String],
}

impl Engines<'_> {
    fn engine_of(&mut self, case: &CasePlan) -> &mut dyn Workload {
        match &case.work {
            // The instance refuses work of other engines; no engine runs imported work.
            Work::LogicalReads(_)
            | Work::ParallelScan(_)
            | Work::OwnMemory(_)
            | Work::Imported(_) => self.instance,
            Work::Server(..) => self.servers,
            Work::Command(_) => self.command,
            Work::MemoryLatency(_)
            | Work::DepthCurve(_)
            | Work::LineTransfers(_)
            | Work::Stream(_)
            | Work::LoadedLatency(_) => self.kernels,
        }
    }
}

impl Engines<'_> {
    fn warned(&self, mut trial: Trial) -> Trial {
        trial.warnings.extend_from_slice(self.warnings);
        trial
    }
}

impl Workload for Engines<'_> {
    fn rows_per_table(&mut self, case: &CasePlan) -> Option<u32> {
        self.engine_of(case).rows_per_table(case)
    }

    fn calibrate(
        &mut self,
        case: &CasePlan,
        spec: &CalibrationSpec,
        on_point: &mut dyn FnMut(CalibrationPoint),
        cancel: &Cancel,
    ) -> Result<Option<Calibration>, WorkloadError> {
        self.engine_of(case).calibrate(case, spec, on_point, cancel)
    }

    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        let trial = self.engine_of(case).trial(case, spec, live, cancel)?;
        Ok(self.warned(trial))
    }

    fn round(
        &mut self,
        cases: &[&CasePlan],
        spec: &RoundSpec<'_>,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Option<Vec<Trial>>, WorkloadError> {
        // Only the instance can park cases; it rejects those of other engines.
        let trials = self.instance.round(cases, spec, live, cancel)?;
        let warned = |trials: Vec<Trial>| trials.into_iter().map(|it| self.warned(it)).collect();
        Ok(trials.map(warned))
    }
}
