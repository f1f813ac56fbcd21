//! A database server that is already running as a workload: one case, unchanged.

use std::collections::BTreeMap;

use linux::Root;
use model::{
    Allocation, Backing, Calibration, CalibrationPoint, CasePlan, LoadPlan, LogicalReads, Metric,
    Phase, Placement, ServerReads, SgaPlan, Trial, Work,
};
use server::{Connected, Watch};

use super::server::{calibration_of, failed, invalidate, note_version, order_of};
use crate::{CalibrationSpec, Cancel, Plan, TrialSpec, Workload, WorkloadError};

/// The name of its only case.
const CASE: &str = "as-it-is";

/// A workload on a server that is already running.
pub struct ConnectedWorkload {
    server: Box<dyn Connected>,
}

impl ConnectedWorkload {
    /// Creates a workload on this server.
    pub fn new(server: Box<dyn Connected>) -> Self {
        ConnectedWorkload { server }
    }

    /// Removes what the workload created on the server.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn close(self) -> Result<(), server::Error> {
        self.server.close()
    }
}

/// Returns the plan of a run on an unchanged server. It requests no placement, so only memory that
/// moves can contradict it.
pub fn connected_plan(server: &dyn Connected, sessions: u32, question: &str) -> Plan {
    let kind = server.kind();
    let case = CasePlan {
        name: CASE.to_owned(),
        about: format!("{} {} as it runs.", kind.name(), server.version().text),
        placement: Placement::inherited(),
        work: Work::Server(
            kind,
            ServerReads {
                reads: LogicalReads {
                    sga: SgaPlan {
                        cache_bytes: server.cache_bytes(),
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
                moved_to: None,
                cpu_quota: None,
                settings: BTreeMap::new(),
            },
        ),
    };
    Plan {
        experiment: format!("{}-connected", kind.id()),
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
                "the server is not a process of this machine: its memory placement and its \
                 sessions' CPU time are not visible"
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
            server::sweep(self.server.load()?.as_mut(), order, on_point, watch)
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
        let measured = self.server.load().and_then(|mut loaded| {
            server::measure(&Root::live(), loaded.as_mut(), &order, &mut watch)
        });
        let mut trial = match measured {
            Ok(result) => result.trial(spec.round, &order),
            Err(error) => return failed(spec.round, error),
        };
        let server = self.server.as_ref();
        note_version(&mut trial, server.kind(), Some(server.version()));
        judge(server, &mut trial);
        Ok(trial)
    }
}

/// Invalidates a trial if memory moved or DB time is unaccounted for, where these are visible.
fn judge(server: &dyn Connected, trial: &mut Trial) {
    let mut found = Vec::new();
    if let Some(sga) = &trial.evidence.sga
        && sga.bytes_by_node_before != sga.bytes_by_node_after
    {
        let cache = server.kind().cache();
        found.push(format!("pages of the {cache} moved in the window"));
    }
    let sessions = trial.measured.as_ref().and_then(|it| it.sessions.as_ref());
    let accounts = server.accounts_for_time();
    let time = sessions.map(|it| &it.time).filter(|_| accounts);
    found.extend(time.and_then(server::unaccounted));
    invalidate(trial, &found);
}
