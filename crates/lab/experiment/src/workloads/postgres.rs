//! A PostgreSQL server as a workload: one cluster per run, one server per trial, with its groups
//! and evidence.

use std::path::PathBuf;

use journal::Journal;
use model::exit::ExitCode;
use model::{
    Calibration, CalibrationPoint, CasePlan, CounterEvidence, Evidence, LatencySummary, Measured,
    Outcome, Phase, PostgresReads, SessionFigures, TimeModel, Trial, Work,
};
use placement::hierarchy::Hierarchy;
use postgresql::{
    CalibrationOrder, Cluster, Launcher, Placed, Places, ServerPlan, TablesPlan, TrialOrder,
    TrialResult, Version, Watch,
};

use super::plateau::{GAIN_MIN, plateau, work_unit_max};
use super::trial_groups::{TrialGroups, quota_contradiction};
use crate::{CalibrationSpec, Cancel, TrialSpec, Workload, WorkloadError};

/// CPUs that other processes may use during a window before the trial carries a warning.
const OTHER_CPUS_MAX: f64 = 0.1;

/// PostgreSQL servers of one temporary cluster.
pub struct PostgresWorkload {
    /// Where to look for PostgreSQL when it is first needed.
    places: Places,
    launcher: Launcher,
    /// Where the cluster's directory is created.
    folder: PathBuf,
    /// Where processor groups are created; `None` when none can be.
    hierarchy: Option<Hierarchy>,
    journal: Journal,
    /// Created when first needed.
    cluster: Option<Cluster>,
}

impl PostgresWorkload {
    /// Creates a workload of servers found in `places`, with their cluster in `folder`.
    pub fn new(
        places: Places,
        launcher: Launcher,
        folder: PathBuf,
        hierarchy: Option<Hierarchy>,
        journal: Journal,
    ) -> Self {
        PostgresWorkload {
            places,
            launcher,
            folder,
            hierarchy,
            journal,
            cluster: None,
        }
    }

    fn cluster(&mut self) -> Result<&Cluster, postgresql::Error> {
        if self.cluster.is_none() {
            let made = Cluster::create(&self.places, &self.folder, 0, &self.journal)?;
            self.cluster = Some(made);
        }
        Ok(self.cluster.as_ref().expect("it was just made"))
    }

    /// Creates the groups of a case and plans its server.
    fn prepare(&self, case: &CasePlan) -> Result<(TrialGroups, ServerPlan), WorkloadError> {
        let work = work_of(case)?;
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
            tables: TablesPlan::of(&reads.sga, &reads.load),
        };
        Ok((groups, plan))
    }
}

impl Workload for PostgresWorkload {
    fn rows_per_table(&mut self, case: &CasePlan) -> Option<u32> {
        let reads = case.logical_reads()?;
        Some(TablesPlan::of(&reads.sga, &reads.load).rows_per_table())
    }

    fn calibrate(
        &mut self,
        case: &CasePlan,
        spec: &CalibrationSpec,
        on_point: &mut dyn FnMut(CalibrationPoint),
        cancel: &Cancel,
    ) -> Result<Option<Calibration>, WorkloadError> {
        if work_of(case)?.reads.load.work_unit.is_some() {
            return Ok(None);
        }
        // Without a quota: the sweep measures the cost of a statement, not the effect of limits.
        let mut case = case.clone();
        if let Work::Postgres(work) = &mut case.work {
            work.cpu_quota = None;
        }
        let (groups, plan) = self.prepare(&case)?;
        let launcher = self.launcher.clone();
        let found = calibration_of(spec, on_point, cancel, |order, on_point, watch| {
            let cluster = self.cluster()?;
            postgresql::calibrate(cluster, &launcher, &plan, order, on_point, watch)
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
        let (groups, plan) = self.prepare(case)?;
        let launcher = self.launcher.clone();
        let asked = work_of(case)?.reads.load.work_unit;
        let order = TrialOrder {
            work_unit: asked.or(spec.work_unit).unwrap_or(1),
            ..order_of(spec)
        };
        let mut watch = Watch {
            live,
            cancelled: &|| cancel.is_cancelled(),
        };
        let ran = self.cluster().and_then(|cluster| {
            postgresql::run_trial(cluster, &launcher, &plan, &order, &mut watch)
        });
        let mut trial = match ran {
            Ok(result) => trial_of(spec.round, &order, result),
            Err(error) => failed(spec.round, error)?,
        };
        groups.read_back(&mut trial.evidence, &mut trial.warnings);
        groups.remove()?;
        let version = self.cluster.as_ref().map(|it| &it.installation().version);
        note_version(&mut trial, version);
        judge(case, &mut trial)?;
        Ok(trial)
    }
}

fn work_of(case: &CasePlan) -> Result<&PostgresReads, WorkloadError> {
    match &case.work {
        Work::Postgres(work) => Ok(work),
        _ => Err(WorkloadError::Fatal {
            message: format!("case {:?} cannot run on PostgreSQL", case.name),
            exit_code: ExitCode::Bug,
        }),
    }
}

/// Records the server's version in a trial, with any remark on it.
pub(super) fn note_version(trial: &mut Trial, version: Option<&Version>) {
    trial.evidence.server = version.map(|it| format!("PostgreSQL {}", it.text));
    trial.warnings.extend(version.and_then(Version::remark));
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
    ) -> Result<(), postgresql::Error>,
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
pub(super) fn fatal(what: &str, error: postgresql::Error) -> WorkloadError {
    match error {
        postgresql::Error::Cancelled => WorkloadError::Cancelled,
        error => WorkloadError::Fatal {
            message: format!("{what}: {}", with_advice(&error)),
            exit_code: error.exit_code(),
        },
    }
}

/// Formats an error with its hint, if any.
fn with_advice(error: &postgresql::Error) -> String {
    match error.advice() {
        Some(advice) => format!("{error}; {advice}"),
        None => error.to_string(),
    }
}

/// Returns a failed trial, or an error if every other trial would fail the same way.
pub(super) fn failed(round: u32, error: postgresql::Error) -> Result<Trial, WorkloadError> {
    if matches!(error, postgresql::Error::Cancelled) {
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

/// Converts the result of a server to a trial.
pub(super) fn trial_of(round: u32, order: &TrialOrder, result: TrialResult) -> Trial {
    let mut warnings = result.remarks.clone();
    if !result.was_steady {
        let seconds = result.warm_up_s;
        warnings.push(format!(
            "the rate was not steady after {seconds:.1} s of warm-up"
        ));
    }
    let other_s = result.machine.other_cpu_s.unwrap_or(0.0);
    if other_s > order.window_s * OTHER_CPUS_MAX {
        let window_s = order.window_s;
        warnings.push(format!(
            "others on this machine used {other_s:.1} s of CPU in the window of {window_s:.1} s"
        ));
    }
    let counters = result.checks.iter().map(|check| CounterEvidence {
        source: check.source.name().to_owned(),
        counted: check.hits,
        expected: check.expected,
    });
    let evidence = Evidence {
        counters: counters.collect(),
        huge_pages_before: result.huge_pages_before.clone(),
        huge_pages_during: result.huge_pages_during.clone(),
        numa_pages_migrated: result.machine.pages_migrated,
        steal_s: result.machine.steal_s,
        other_cpu_s: result.machine.other_cpu_s,
        rows_verified: result.statements() * u64::from(order.work_unit),
        sessions: result.sessions.clone(),
        sga: result.buffers.clone(),
        ..Evidence::default()
    };
    Trial {
        round,
        outcome: match result.contradictions.is_empty() {
            true => Outcome::Valid,
            false => Outcome::Invalid(result.contradictions.join("; ")),
        },
        measured: Some(measured(order, &result)),
        evidence,
        warnings,
        report: None,
    }
}

fn measured(order: &TrialOrder, result: &TrialResult) -> Measured {
    let longest_s = result.windows.iter().map(|window| window.longest_s);
    let longest_s = longest_s.fold(0.0, f64::max);
    let time = TimeModel {
        db_time_s: result.windows.iter().map(|window| window.seconds).sum(),
        db_cpu_s: result
            .windows
            .iter()
            .filter_map(|window| window.cpu_s)
            .sum(),
        cpu_wait_s: result.windows.iter().filter_map(|it| it.run_queue_s).sum(),
        kernel_cpu_s: None,
        waits: Default::default(),
    };
    Measured {
        value: result.logical_reads_per_s(),
        window_s: order.window_s,
        warm_up_s: Some(result.warm_up_s),
        sessions: Some(SessionFigures {
            sessions: result.windows.len() as u32,
            work_unit: order.work_unit,
            statements: result.statements(),
            logical_reads: result.logical_reads(),
            physical_reads: result.table_reads,
            updates: None,
            time,
            samples: result.samples.clone(),
            statement_latency: LatencySummary {
                p50_ns: None,
                p99_ns: None,
                max_ns: Some((longest_s * 1e9) as u64),
            },
        }),
        kernel: None,
    }
}

/// Compares placement and quota with the evidence, and the unaccounted DB time with its limit.
fn judge(case: &CasePlan, trial: &mut Trial) -> Result<(), WorkloadError> {
    let work = work_of(case)?;
    let Some(sessions) = trial.measured.as_ref().and_then(|it| it.sessions.as_ref()) else {
        return Ok(());
    };
    let mut found = Vec::new();
    let quota = trial.evidence.cpu_quota.as_ref();
    found.extend(quota_contradiction(work.cpu_quota, quota));
    found.extend(postgresql::unaccounted(&sessions.time));
    found.extend(placement::contradictions(
        &case.placement,
        &work.reads,
        &trial.evidence,
    ));
    match &mut trial.outcome {
        Outcome::Valid if !found.is_empty() => trial.outcome = Outcome::Invalid(found.join("; ")),
        Outcome::Invalid(reason) if !found.is_empty() => {
            *reason = format!("{reason}; {}", found.join("; "));
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::{
        Allocation, Backing, CasePlan, LatencySummary, LoadPlan, LogicalReads, Measured, Outcome,
        Placement, PostgresReads, QuotaEvidence, SessionFigures, SgaPlan, TimeModel, Trial, Work,
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
            work: Work::Postgres(PostgresReads {
                reads,
                prewarm_cpus: None,
                cpu_quota: Some(1),
            }),
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
            window_s: 1.0,
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
            judge(&case(), &mut trial).unwrap();
            let Outcome::Invalid(reason) = &trial.outcome else {
                panic!("it has no evidence of its pages: {:?}", trial.outcome);
            };
            let share = "are 50.0 % of DB time, 99 % is the least";
            assert_eq!(reason.contains(share), is_missed, "{reason}");
            let time = trial.measured.unwrap().sessions.unwrap().time;
            assert_eq!(time.unaccounted_s(), 2.0 - cpu_wait_s);
        };
        // Sessions throttled by a quota are on a run queue.
        check(2.0, false);
        check(0.5, true);
    }
}
