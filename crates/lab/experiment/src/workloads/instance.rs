//! The embedded instance as a workload: one instance process per trial, its group, its evidence.

use std::path::PathBuf;
use std::time::Duration;

use instance::{Coordinator, InstanceOrder, InstanceReport, Running, Task};
use model::exit::ExitCode;
use model::{
    Calibration, CalibrationPoint, CasePlan, LogicalReads, Outcome, OwnMemory, ParkedEvidence,
    Phase, Trial, Work,
};
use numa::hierarchy::Hierarchy;
use numa::journal::Journal;

use super::alternation::alternate;
use super::plateau::{GAIN_MIN, WORK_UNIT_MAX, plateau};
use super::trial_groups::{TrialGroups, quota_contradiction};
use crate::{Cancel, RoundSpec, TrialSpec, Workload, WorkloadError};

/// How often a trial under way looks whether it is to be cancelled.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);
/// CPU time that a parked session may use, as a share of the time.
const PARKED_CPU_MAX: f64 = 0.005;
/// And in seconds, each time: to fall asleep and to wake. It is some 10 µs; an emulated machine
/// needs a hundred times as long.
const PARKING_S: f64 = 0.002;
/// Time at each work unit of the calibration.
const CALIBRATION_STEP_S: f64 = 0.12;

/// The embedded instance.
pub struct InstanceWorkload {
    coordinator: Coordinator,
    /// Where processor groups are made; `None` when no case needs one.
    hierarchy: Option<Hierarchy>,
    journal: Journal,
    /// On whose file system data files are made.
    data_directory: PathBuf,
    /// What is not measured before each window of trials that alternate, once it was found out.
    pub(super) lead_in_s: Option<f64>,
}

impl InstanceWorkload {
    /// A workload that starts instance processes with `coordinator`.
    pub fn new(
        coordinator: Coordinator,
        hierarchy: Option<Hierarchy>,
        journal: Journal,
        data_directory: PathBuf,
    ) -> Self {
        InstanceWorkload {
            coordinator,
            hierarchy,
            journal,
            data_directory,
            lead_in_s: None,
        }
    }

    /// Keeps the instance of a case up until `cancel` is raised, and hands over its processes once
    /// they are there.
    ///
    /// # Errors
    /// When the instance cannot be made, or one of its processes ends before.
    pub fn hold(
        &self,
        case: &CasePlan,
        hold: &Hold,
        on_up: &mut dyn FnMut(&HeldProcesses),
        cancel: &Cancel,
    ) -> Result<(), WorkloadError> {
        let task = Task::Hold {
            work_unit: hold.work_unit,
            idle: hold.idle,
        };
        let work = work_of(case)?.clone();
        let take = &mut |report, _: &TrialGroups| match report {
            InstanceReport::Held {
                instance_pid,
                session_pids,
                writer_pids,
            } => {
                let processes = HeldProcesses {
                    instance_pid,
                    session_pids,
                    writer_pids,
                };
                on_up(&processes);
                Ok(Step::GoOn)
            }
            InstanceReport::Failed { reason } => Err(WorkloadError::Fatal {
                message: format!("case {:?} cannot be held: {reason}", case.name),
                exit_code: ExitCode::WorkloadFailed,
            }),
            _ => Ok(Step::GoOn),
        };
        let held = self.carry_out(case, work, hold.seed, task, cancel, take);
        match held {
            Err(WorkloadError::Cancelled) => Ok(()),
            other => other,
        }
    }

    /// Makes the groups of a trial; `number` tells them from those of trials beside it.
    pub(super) fn groups_of(
        &self,
        case: &CasePlan,
        work: &LogicalReads,
        number: Option<usize>,
    ) -> Result<TrialGroups, WorkloadError> {
        let hierarchy = self.hierarchy.as_ref();
        let quota = work.load.cpu_quota;
        TrialGroups::create(hierarchy, &case.placement, quota, &self.journal, number)
    }

    /// What an instance of a case is asked for.
    pub(super) fn order_of(
        &self,
        case: &CasePlan,
        work: LogicalReads,
        groups: &TrialGroups,
        seed: u64,
        task: Task,
    ) -> InstanceOrder {
        InstanceOrder {
            parent_pid: std::process::id(),
            placement: case.placement.clone(),
            work,
            own: own_memory_of(case).cloned(),
            groups: groups.directories(),
            data_directory: self.data_directory.clone(),
            seed,
            task,
        }
    }

    /// Starts an instance.
    pub(super) fn start(&self, order: &InstanceOrder) -> Result<Running, instance::Error> {
        self.coordinator.start(order)
    }

    /// Carries out one task on one instance process: hands every report to `take` until it is
    /// done. Whatever happens, the processes and the group are gone afterwards.
    fn carry_out(
        &self,
        case: &CasePlan,
        work: LogicalReads,
        seed: u64,
        task: Task,
        cancel: &Cancel,
        take: &mut TakeReport<'_>,
    ) -> Result<(), WorkloadError> {
        let groups = self.groups_of(case, &work, None)?;
        let order = self.order_of(case, work, &groups, seed, task);
        let mut running = match self.coordinator.start(&order) {
            Ok(running) => running,
            // An instance that dies early may be gone before it has its order.
            Err(error) => return take(error.into(), &groups).map(|_| ()),
        };
        let result = loop {
            if cancel.is_cancelled() {
                break Err(WorkloadError::Cancelled);
            }
            let step = match running.next_report(LOOK_EVERY) {
                Ok(Some(InstanceReport::NotPermitted { reason })) => Err(not_permitted(reason)),
                Ok(Some(report)) => take(report, &groups),
                Ok(None) => Ok(Step::GoOn),
                Err(error) => take(error.into(), &groups),
            };
            match step {
                Ok(Step::GoOn) => {}
                Ok(Step::Done) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // The processes end first: a group can only be removed when it is empty.
        drop(running);
        groups.remove()?;
        result
    }
}

/// How an instance is held up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Seed of the physical order of rows and of the keys.
    pub seed: u64,
    /// Rows per statement.
    pub work_unit: u32,
    /// Whether the sessions wait instead of running.
    pub idle: bool,
}

/// The processes of an instance that is held up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldProcesses {
    /// The instance.
    pub instance_pid: u32,
    /// Its sessions.
    pub session_pids: Vec<u32>,
    /// Its database writers; none without updates.
    pub writer_pids: Vec<u32>,
}

/// What is done with each report of an instance, given its groups.
type TakeReport<'a> = dyn FnMut(InstanceReport, &TrialGroups) -> Result<Step, WorkloadError> + 'a;

/// Whether a task goes on after a report.
enum Step {
    GoOn,
    Done,
}

impl Workload for InstanceWorkload {
    fn calibrate(
        &mut self,
        case: &CasePlan,
        seed: u64,
        on_point: &mut dyn FnMut(CalibrationPoint),
        cancel: &Cancel,
    ) -> Result<Option<Calibration>, WorkloadError> {
        let needs_none = |work: &LogicalReads| work.load.work_unit.is_some();
        if case.logical_reads().is_none_or(needs_none) {
            return Ok(None);
        }
        // One session, without caging and updates: the sweep asks what a statement costs, not what
        // limits and writers do.
        let mut work = work_of(case)?.clone();
        work.load.sessions = 1;
        work.load.cpu_count = None;
        work.load.update_pct = 0;
        work.load.cpu_quota = None;
        let task = Task::Calibration {
            step_s: CALIBRATION_STEP_S,
            gain_min: GAIN_MIN,
            work_unit_max: WORK_UNIT_MAX,
        };
        let mut points = Vec::new();
        let take = &mut |report, _: &TrialGroups| match report {
            InstanceReport::Point(point) => {
                points.push(point);
                on_point(point);
                Ok(Step::GoOn)
            }
            InstanceReport::Calibrated => Ok(Step::Done),
            InstanceReport::Failed { reason } => Err(WorkloadError::Fatal {
                message: format!("cannot calibrate the work unit: {reason}"),
                exit_code: ExitCode::WorkloadFailed,
            }),
            _ => Ok(Step::GoOn),
        };
        self.carry_out(case, work, seed, task, cancel, take)?;
        plateau(points).map(Some)
    }

    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        let task = task_of(case, spec);
        let work = work_of(case)?;
        let mut trial = None;
        self.carry_out(
            case,
            work.clone(),
            spec.seed,
            task,
            cancel,
            &mut |report, groups| match report {
                InstanceReport::Progress { phase, value } => {
                    live(phase.into(), value);
                    Ok(Step::GoOn)
                }
                InstanceReport::Trial(done) => {
                    trial = Some(judged(case, work, *done, groups));
                    Ok(Step::Done)
                }
                InstanceReport::Failed { reason } => {
                    trial = Some(Trial::failed(spec.round, reason));
                    Ok(Step::Done)
                }
                _ => Ok(Step::GoOn),
            },
        )?;
        Ok(trial
            .unwrap_or_else(|| Trial::failed(spec.round, "the instance said nothing".to_owned())))
    }

    fn round(
        &mut self,
        cases: &[&CasePlan],
        spec: &RoundSpec<'_>,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Option<Vec<Trial>>, WorkloadError> {
        alternate(self, cases, spec, live, cancel).map(Some)
    }
}

/// What an instance is to do for a trial.
fn task_of(case: &CasePlan, spec: &TrialSpec) -> Task {
    let asked_unit = case.logical_reads().and_then(|work| work.load.work_unit);
    match &case.work {
        Work::ParallelScan(work) => Task::Scan {
            round: spec.round,
            stealing: work.stealing,
            window_s: spec.window_s,
            warm_up_s_min: spec.warm_up_s_min,
        },
        _ => Task::Trial {
            round: spec.round,
            work_unit: asked_unit.or(spec.work_unit).unwrap_or(1),
            window_s: spec.window_s,
            warm_up_s_min: spec.warm_up_s_min,
            warm_up_s_max: spec.warm_up_s_max,
        },
    }
}

/// What the instance is asked for.
pub(super) fn work_of(case: &CasePlan) -> Result<&LogicalReads, WorkloadError> {
    case.instance().ok_or_else(|| WorkloadError::Fatal {
        message: format!("case {:?} cannot run on the instance", case.name),
        exit_code: ExitCode::Bug,
    })
}

/// What its sessions do in memory of their own.
fn own_memory_of(case: &CasePlan) -> Option<&OwnMemory> {
    match &case.work {
        Work::OwnMemory(work) => Some(&work.own),
        _ => None,
    }
}

/// Completes the evidence with the groups and decides whether the trial counts.
pub(super) fn judged(
    case: &CasePlan,
    work: &LogicalReads,
    mut trial: Trial,
    groups: &TrialGroups,
) -> Trial {
    groups.read_back(&mut trial.evidence, &mut trial.warnings);
    let quota = trial.evidence.cpu_quota.as_ref();
    let mut found = numa::contradictions(&case.placement, work, &trial.evidence);
    found.extend(quota_contradiction(work.load.cpu_quota, quota));
    found.extend(trial.evidence.parked.and_then(parked_contradiction));
    if let Some(own) = own_memory_of(case) {
        let page_bytes = work.sga.page_bytes;
        found.extend(numa::own_memory_contradictions(
            own,
            page_bytes,
            &trial.evidence,
        ));
    }
    if trial.outcome == Outcome::Valid && !found.is_empty() {
        trial.outcome = Outcome::Invalid(found.join("; "));
    }
    trial
}

/// Sessions that did not sleep while they were parked, in words: they disturbed other cases.
fn parked_contradiction(parked: ParkedEvidence) -> Option<String> {
    let ParkedEvidence {
        parked_s,
        times,
        cpu_s,
    } = parked;
    (cpu_s > parked_s * PARKED_CPU_MAX + times as f64 * PARKING_S)
        .then(|| format!("sessions used {cpu_s:.3} s of CPU time while parked for {parked_s:.1} s"))
}

pub(super) fn not_permitted(message: String) -> WorkloadError {
    WorkloadError::Fatal {
        message,
        exit_code: ExitCode::NotPermitted,
    }
}

#[cfg(test)]
mod tests {
    use instance::Coordinator;
    use model::exit::ExitCode;
    use model::{
        Allocation, Backing, CasePlan, LoadPlan, LogicalReads, Outcome, Placement, SgaPlan, Work,
    };
    use numa::journal::Journal;

    use std::path::PathBuf;

    use super::{InstanceWorkload, parked_contradiction};
    use crate::{Cancel, TrialSpec, Workload, WorkloadError};
    use model::ParkedEvidence;

    fn smallest_case() -> CasePlan {
        CasePlan {
            name: "one".to_owned(),
            about: String::new(),
            placement: Placement::inherited(),
            work: Work::LogicalReads(LogicalReads {
                sga: SgaPlan {
                    cache_bytes: 1 << 20,
                    backing: Backing::Memfd,
                    page_bytes: 4096,
                    allocation: Allocation::OsDefault,
                },
                load: LoadPlan {
                    sessions: 1,
                    cpu_count: None,
                    ..LoadPlan::default()
                },
            }),
        }
    }

    fn workload(program: &str, arguments: &[&str]) -> InstanceWorkload {
        let coordinator = Coordinator {
            program: program.into(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        };
        let journal = Journal::in_directory(std::path::Path::new("/nonexistent"));
        InstanceWorkload::new(coordinator, None, journal, PathBuf::from("/nonexistent"))
    }

    const SPEC: TrialSpec = TrialSpec {
        round: 7,
        seed: 1,
        work_unit: None,
        window_s: 0.1,
        warm_up_s_min: 0.1,
        warm_up_s_max: 0.1,
    };

    #[test]
    fn sessions_that_run_while_parked_are_told_of() {
        let of = |parked_s, times, cpu_s| {
            parked_contradiction(ParkedEvidence {
                parked_s,
                times,
                cpu_s,
            })
        };
        assert_eq!(of(10.0, 10, 0.001), None);
        assert_eq!(of(1.0, 10, 0.02), None);
        assert_eq!(of(0.0, 0, 0.0), None);
        let found = of(10.0, 10, 0.2).unwrap();
        assert!(
            found.contains("0.200 s of CPU time while parked for 10.0 s"),
            "{found}"
        );
    }

    #[test]
    fn what_is_not_permitted_ends_the_run() {
        let script = r#"cat > /dev/null; echo '{"not-permitted":{"reason":"no mbind here"}}'"#;
        let mut workload = workload("/bin/sh", &["-c", script]);
        let trial = workload.trial(&smallest_case(), &SPEC, &mut |_, _| {}, &Cancel::new());
        let expected = WorkloadError::Fatal {
            message: "no mbind here".to_owned(),
            exit_code: ExitCode::NotPermitted,
        };
        assert_eq!(trial.unwrap_err(), expected);
    }

    /// The second ends before it has read its order.
    #[test]
    fn an_instance_that_does_not_start_fails_the_trial_and_not_the_run() {
        for program in ["/nonexistent/numalab", "/bin/true"] {
            let mut workload = workload(program, &[]);
            let cancel = Cancel::new();
            let trial = workload.trial(&smallest_case(), &SPEC, &mut |_, _| {}, &cancel);
            let trial = trial.unwrap();
            let Outcome::Failed(reason) = trial.outcome else {
                panic!("{program}: {trial:?}");
            };
            assert!(reason.contains("instance"), "{program}: {reason}");
            assert_eq!(trial.round, 7);
        }
    }
}
