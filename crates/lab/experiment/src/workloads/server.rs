//! Database servers that numalab starts as a workload: what a run's servers have in common is made
//! once for each database, a server for each trial, with its groups and evidence.

use std::collections::BTreeMap;
use std::path::PathBuf;

use journal::Journal;
use linux::own_program::OwnProgram;
use model::exit::ExitCode;
use model::{
    Calibration, CalibrationPoint, CasePlan, Outcome, Phase, ServerKind, ServerReads, Trial, Wait,
    Work,
};
use placement::hierarchy::Hierarchy;
use server::{
    CalibrationOrder, Cluster, Database, Placed, ServerPlan, TablesPlan, TrialOrder, Version, Watch,
};

use super::moving::Moving;
use super::plateau::{GAIN_MIN, plateau, work_unit_max};
use super::trial_groups::{TrialGroups, quota_contradiction};
use crate::{CalibrationSpec, Cancel, TrialSpec, Workload, WorkloadError};

/// Servers that numalab starts.
pub struct ServerWorkload {
    databases: Vec<Box<dyn Database>>,
    launcher: OwnProgram,
    /// Where the directories of clusters are created.
    folder: PathBuf,
    /// Where processor groups are created; `None` when none can be.
    hierarchy: Option<Hierarchy>,
    journal: Journal,
    /// Created when first needed.
    clusters: BTreeMap<ServerKind, Box<dyn Cluster>>,
}

impl ServerWorkload {
    /// Creates a workload of servers of `databases`, with their clusters in `folder`.
    pub fn new(
        databases: Vec<Box<dyn Database>>,
        launcher: OwnProgram,
        folder: PathBuf,
        hierarchy: Option<Hierarchy>,
        journal: Journal,
    ) -> Self {
        ServerWorkload {
            databases,
            launcher,
            folder,
            hierarchy,
            journal,
            clusters: BTreeMap::new(),
        }
    }

    /// Returns the cluster of a database, which is made when first needed.
    fn cluster(&mut self, kind: ServerKind) -> Result<&dyn Cluster, server::Error> {
        if !self.clusters.contains_key(&kind) {
            let made = self.database(kind).create(&self.folder, &self.journal)?;
            self.clusters.insert(kind, made);
        }
        Ok(self.clusters[&kind].as_ref())
    }

    fn database(&self, kind: ServerKind) -> &dyn Database {
        let found = self.databases.iter().find(|it| it.kind() == kind);
        found.expect("every kind has a database").as_ref()
    }

    /// Creates the groups of a case and plans its server.
    fn prepare(&self, case: &CasePlan) -> Result<(TrialGroups, ServerPlan), WorkloadError> {
        let (kind, work) = work_of(case)?;
        let groups = TrialGroups::create(
            self.hierarchy.as_ref(),
            &case.placement,
            work.cpu_quota,
            &self.journal,
            None,
        )?;
        let reads = &work.reads;
        let plan = ServerPlan {
            placed: Placed {
                placement: case.placement.clone(),
                groups: groups.directories(),
                allocation: reads.sga.allocation.clone(),
                prewarm_cpus: work.prewarm_cpus.clone(),
            },
            huge_pages: reads.sga.page_bytes > linux::process::page_bytes(),
            settings: work.settings.clone(),
            tables: TablesPlan::of(kind, &reads.sga, &reads.load),
        };
        Ok((groups, plan))
    }
}

impl Workload for ServerWorkload {
    fn rows_per_table(&mut self, case: &CasePlan) -> Option<u32> {
        let (kind, work) = work_of(case).ok()?;
        let reads = &work.reads;
        Some(TablesPlan::of(kind, &reads.sga, &reads.load).rows_per_table())
    }

    fn calibrate(
        &mut self,
        case: &CasePlan,
        spec: &CalibrationSpec,
        on_point: &mut dyn FnMut(CalibrationPoint),
        cancel: &Cancel,
    ) -> Result<Option<Calibration>, WorkloadError> {
        let (kind, work) = work_of(case)?;
        if work.reads.load.work_unit.is_some() {
            return Ok(None);
        }
        // Without a quota: the sweep measures the cost of a statement, not the effect of limits.
        let mut case = case.clone();
        if let Work::Server(_, work) = &mut case.work {
            work.cpu_quota = None;
        }
        let (groups, plan) = self.prepare(&case)?;
        let launcher = self.launcher.clone();
        let found = calibration_of(spec, on_point, cancel, |order, on_point, watch| {
            let cluster = self.cluster(kind)?;
            server::calibrate(cluster, &launcher, &plan, order, on_point, watch)
        });
        groups.remove()?;
        found.map(Some)
    }

    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        let (kind, work) = work_of(case)?;
        let (groups, plan) = self.prepare(case)?;
        let launcher = self.launcher.clone();
        let asked = work.reads.load.work_unit;
        let order = TrialOrder {
            work_unit: asked.or(spec.work_unit).unwrap_or(1),
            ..order_of(spec)
        };
        let mut watch = Watch {
            live,
            cancelled: &|| cancel.is_cancelled(),
        };
        let journal = self.journal.clone();
        let mut moving = Moving::new(work.moved_to.as_ref(), &journal, cancel);
        let mut on_loaded = |pids: &[u32]| moving.as_mut().map_or(Ok(()), |it| it.carry_out(pids));
        let ran = self.cluster(kind).and_then(|cluster| {
            let mut trial = server::TrialOf {
                cluster,
                launcher: &launcher,
                plan: &plan,
                on_loaded: &mut on_loaded,
            };
            trial.run(&order, &mut watch)
        });
        let forgotten = moving.map_or(Ok(()), Moving::forget);
        forgotten.map_err(|error| WorkloadError::Fatal {
            message: format!("cannot strike a move off the journal: {error}"),
            exit_code: ExitCode::WorkloadFailed,
        })?;
        let mut trial = match ran {
            Ok(result) => result.trial(spec.round, &order),
            Err(error) => failed(spec.round, error)?,
        };
        groups.read_back(&mut trial.evidence, &mut trial.warnings);
        groups.remove()?;
        let version = self.clusters.get(&kind).map(|it| it.version());
        note_version(&mut trial, kind, version);
        let accounts_for_time = self.database(kind).accounts_for_time();
        judge(case, accounts_for_time, &mut trial)?;
        if !accounts_for_time {
            name_the_rest(&mut trial);
        }
        Ok(trial)
    }
}

/// The wait event of a session outside of its task: a client that sends each statement has its own
/// part, and a task with several sessions works for the others.
const OUTSIDE_THE_TASK: &str = "client, or another session";

/// Names the time that a server does not account for, where it cannot.
fn name_the_rest(trial: &mut Trial) {
    let sessions = trial.measured.as_mut();
    let Some(sessions) = sessions.and_then(|it| it.sessions.as_mut()) else {
        return;
    };
    let total_s = sessions.time.unaccounted_s();
    if total_s > 0.0 {
        let count = sessions.statements;
        let rest = Wait { count, total_s };
        sessions
            .time
            .waits
            .insert(OUTSIDE_THE_TASK.to_owned(), rest);
    }
}

fn work_of(case: &CasePlan) -> Result<(ServerKind, &ServerReads), WorkloadError> {
    match &case.work {
        Work::Server(kind, work) => Ok((*kind, work)),
        _ => Err(WorkloadError::Fatal {
            message: format!("case {:?} cannot run on a server", case.name),
            exit_code: ExitCode::Bug,
        }),
    }
}

/// Records the server's version in a trial, with any remark on it.
pub(super) fn note_version(trial: &mut Trial, kind: ServerKind, version: Option<Version>) {
    let Some(Version { text, remark }) = version else {
        return;
    };
    trial.evidence.server = Some(format!("{} {text}", kind.name()));
    trial.warnings.extend(remark);
}

/// Builds the order for a trial.
pub(super) fn order_of(spec: &TrialSpec) -> TrialOrder {
    TrialOrder {
        seed: spec.seed,
        work_unit: spec.work_unit.unwrap_or(1),
        window_s: spec.window_s,
        warm_up_s_min: spec.warm_up_s_min,
        warm_up_s_max: spec.warm_up_s_max,
    }
}

/// Calibrates the work unit by a sweep on a server.
pub(super) fn calibration_of(
    spec: &CalibrationSpec,
    on_point: &mut dyn FnMut(CalibrationPoint),
    cancel: &Cancel,
    sweep: impl FnOnce(
        &CalibrationOrder,
        &mut dyn FnMut(CalibrationPoint),
        &mut Watch<'_>,
    ) -> Result<(), server::Error>,
) -> Result<Calibration, WorkloadError> {
    let order = CalibrationOrder {
        seed: spec.seed,
        gain_min: GAIN_MIN,
        work_unit_max: work_unit_max(spec.rows_max),
    };
    let mut points = Vec::new();
    let mut take = |point| {
        points.push(point);
        on_point(point);
    };
    let mut watch = Watch {
        live: &mut |_, _| {},
        cancelled: &|| cancel.is_cancelled(),
    };
    let swept = sweep(&order, &mut take, &mut watch);
    swept.map_err(|error| fatal("cannot calibrate the work unit", error))?;
    plateau(points, order.work_unit_max)
}

/// Returns the error that ends a run; `what` failed.
fn fatal(what: &str, error: server::Error) -> WorkloadError {
    match error {
        server::Error::Cancelled => WorkloadError::Cancelled,
        error => WorkloadError::Fatal {
            message: format!("{what}: {}", with_advice(&error)),
            exit_code: error.exit_code(),
        },
    }
}

/// Formats an error with its hint, if any.
fn with_advice(error: &server::Error) -> String {
    match error.advice() {
        Some(advice) => format!("{error}; {advice}"),
        None => error.to_string(),
    }
}

/// Returns a failed trial, or an error if every other trial would fail the same way.
pub(super) fn failed(round: u32, error: server::Error) -> Result<Trial, WorkloadError> {
    if matches!(error, server::Error::Cancelled) {
        return Err(WorkloadError::Cancelled);
    }
    match error.exit_code() {
        ExitCode::WorkloadFailed => Ok(Trial::failed(round, error.to_string())),
        exit_code => Err(WorkloadError::Fatal {
            message: with_advice(&error),
            exit_code,
        }),
    }
}

/// Compares placement and quota with the evidence, and the unaccounted DB time with its limit where
/// the server accounts for it.
fn judge(case: &CasePlan, accounts_for_time: bool, trial: &mut Trial) -> Result<(), WorkloadError> {
    let (_, work) = work_of(case)?;
    let Some(sessions) = trial.measured.as_ref().and_then(|it| it.sessions.as_ref()) else {
        return Ok(());
    };
    let mut found = Vec::new();
    let quota = trial.evidence.cpu_quota.as_ref();
    found.extend(quota_contradiction(work.cpu_quota, quota));
    let time = accounts_for_time.then_some(&sessions.time);
    found.extend(time.and_then(server::unaccounted));
    let transparent = linux::sysfs_huge_pages::transparent_page_bytes(&linux::Root::live());
    let moved_to = work.moved_to.as_ref().map(|allocation| placement::MovedTo {
        allocation,
        page_bytes_max: transparent.ok().flatten().unwrap_or(0),
    });
    found.extend(placement::contradictions(
        &case.placement,
        &work.reads,
        moved_to,
        &trial.evidence,
    ));
    invalidate(trial, &found);
    Ok(())
}

/// Makes a trial invalid for these reasons, in addition to those it has.
pub(super) fn invalidate(trial: &mut Trial, found: &[String]) {
    if found.is_empty() {
        return;
    }
    let found = found.join("; ");
    match &mut trial.outcome {
        Outcome::Valid => trial.outcome = Outcome::Invalid(found),
        Outcome::Invalid(reason) => *reason = format!("{reason}; {found}"),
        Outcome::Failed(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use model::{
        Allocation, Backing, CasePlan, LatencySummary, LoadPlan, LogicalReads, Measured, Outcome,
        Placement, QuotaEvidence, ServerKind, ServerReads, SessionFigures, SgaPlan, TimeModel,
        Trial, Work,
    };

    use super::judge;

    /// Returns a case of three sessions limited to one CPU.
    fn case() -> CasePlan {
        let reads = LogicalReads {
            sga: SgaPlan {
                cache_bytes: 1 << 20,
                backing: Backing::Shm,
                page_bytes: 4096,
                allocation: Allocation::OsDefault,
            },
            load: LoadPlan {
                sessions: 3,
                ..LoadPlan::default()
            },
        };
        CasePlan {
            name: "quota".to_owned(),
            about: String::new(),
            placement: Placement::inherited(),
            work: Work::Server(
                ServerKind::named("postgres"),
                ServerReads {
                    reads,
                    prewarm_cpus: None,
                    moved_to: None,
                    cpu_quota: Some(1),
                    settings: Default::default(),
                },
            ),
        }
    }

    /// Returns a trial of it: 3 s of DB time, of which 1 s was CPU time.
    fn trial(cpu_wait_s: f64) -> Trial {
        let mut trial = Trial::failed(0, String::new());
        trial.outcome = Outcome::Valid;
        trial.evidence.cpu_quota = Some(QuotaEvidence {
            path: "/g".to_owned(),
            cpus: 1.0,
            throttled_s: 0.9,
        });
        trial.measured = Some(Measured {
            value: 1e6,
            window_s: Some(1.0),
            warm_up_s: None,
            kernel: None,
            sessions: Some(SessionFigures {
                sessions: 3,
                work_unit: 1,
                statements: 1,
                logical_reads: 1,
                physical_reads: 0,
                updates: None,
                time: TimeModel {
                    db_time_s: 3.0,
                    db_cpu_s: 1.0,
                    cpu_wait_s,
                    ..TimeModel::default()
                },
                samples: Vec::new(),
                statement_latency: LatencySummary {
                    p50_ns: None,
                    p99_ns: None,
                    max_ns: None,
                },
            }),
        });
        trial
    }

    #[test]
    fn a_quota_does_not_account_for_time_that_is_missing() {
        let check = |cpu_wait_s: f64, is_missed: bool| {
            let mut trial = trial(cpu_wait_s);
            judge(&case(), true, &mut trial).unwrap();
            let Outcome::Invalid(reason) = &trial.outcome else {
                panic!("it has no evidence of its pages: {:?}", trial.outcome);
            };
            let share = "are 50.00 % of DB time (minimum 99 %)";
            assert_eq!(reason.contains(share), is_missed, "{reason}");
            let time = trial.measured.unwrap().sessions.unwrap().time;
            assert_eq!(time.unaccounted_s(), 2.0 - cpu_wait_s);
        };
        // Sessions throttled by a quota are on a run queue.
        check(2.0, false);
        check(0.5, true);
    }
}
