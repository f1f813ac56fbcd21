//! A running PostgreSQL server as a workload: one case, unchanged.

use model::{
    Allocation, Backing, Calibration, CalibrationPoint, CasePlan, LoadPlan, LogicalReads, Metric,
    Outcome, Phase, Placement, PostgresReads, SgaPlan, Trial, Work,
};
use postgresql::{Connected, Watch};

use super::postgres::{calibration_of, failed, note_version, order_of, trial_of};
use crate::{CalibrationSpec, Cancel, Plan, TrialSpec, Workload, WorkloadError};

/// The name of its only case.
const CASE: &str = "as-it-is";

/// A workload on a connected server.
pub struct ConnectedWorkload {
    server: Connected,
}

impl ConnectedWorkload {
    /// Creates a workload on this server.
    pub fn new(server: Connected) -> Self {
        ConnectedWorkload { server }
    }

    /// Removes what the workload created on the server.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn close(self) -> Result<(), postgresql::Error> {
        self.server.close()
    }
}

/// Returns the plan of a run on an unchanged server. It requests no placement, so only memory that
/// moves can contradict it.
pub fn connected_plan(server: &Connected, sessions: u32, question: &str) -> Plan {
    let case = CasePlan {
        name: CASE.to_owned(),
        about: format!("PostgreSQL {} as it runs.", server.version().text),
        placement: Placement::inherited(),
        work: Work::Postgres(PostgresReads {
            reads: LogicalReads {
                sga: SgaPlan {
                    cache_bytes: server.shared_buffers_bytes,
                    backing: Backing::Shm,
                    page_bytes: linux::process::page_bytes(),
                    allocation: Allocation::OsDefault,
                },
                load: LoadPlan {
                    sessions,
                    ..LoadPlan::default()
                },
            },
            prewarm_cpus: None,
            cpu_quota: None,
        }),
    };
    Plan {
        experiment: "postgres-connected".to_owned(),
        question: question.to_owned(),
        definition: String::new(),
        metric: Metric::LogicalReadsPerSecond,
        baseline: CASE.to_owned(),
        asks_about_memory: false,
        cases: vec![case],
        skipped: Vec::new(),
        notes: match server.is_on_this_machine() {
            true => Vec::new(),
            false => vec![
                "the server is not a process of this machine: where its memory lies and what CPU \
                 time its sessions get cannot be seen"
                    .to_owned(),
            ],
        },
    }
}

impl Workload for ConnectedWorkload {
    fn calibrate(
        &mut self,
        _case: &CasePlan,
        spec: &CalibrationSpec,
        on_point: &mut dyn FnMut(CalibrationPoint),
        cancel: &Cancel,
    ) -> Result<Option<Calibration>, WorkloadError> {
        let found = calibration_of(spec, on_point, cancel, |order, on_point, watch| {
            self.server.calibrate(order, on_point, watch)
        });
        found.map(Some)
    }

    fn trial(
        &mut self,
        _case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        let order = order_of(spec);
        let mut watch = Watch {
            live,
            cancelled: &|| cancel.is_cancelled(),
        };
        let mut trial = match self.server.trial(&order, &mut watch) {
            Ok(result) => trial_of(spec.round, &order, result),
            Err(error) => return failed(spec.round, error),
        };
        note_version(&mut trial, Some(self.server.version()));
        judge(&mut trial, self.server.is_on_this_machine());
        Ok(trial)
    }
}

/// Invalidates a trial if memory moved or DB time is unaccounted for, where these are visible.
fn judge(trial: &mut Trial, is_on_this_machine: bool) {
    let mut found = Vec::new();
    if let Some(sga) = &trial.evidence.sga
        && sga.bytes_by_node_before != sga.bytes_by_node_after
    {
        found.push("pages of the shared buffers moved in the window".to_owned());
    }
    let sessions = trial.measured.as_ref().and_then(|it| it.sessions.as_ref());
    let time = sessions.map(|it| &it.time).filter(|_| is_on_this_machine);
    found.extend(time.and_then(postgresql::unaccounted));
    if !found.is_empty() {
        let found = found.join("; ");
        trial.outcome = match &trial.outcome {
            Outcome::Invalid(reason) => Outcome::Invalid(format!("{reason}; {found}")),
            Outcome::Valid => Outcome::Invalid(found),
            Outcome::Failed(reason) => Outcome::Failed(reason.clone()),
        };
    }
}
