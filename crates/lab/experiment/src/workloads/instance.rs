//! The embedded instance as a workload: a calibration, a trial, a round of trials, or an instance
//! kept running. Launching and judging are in `instance_launch` and `instance_validity`.

use std::path::PathBuf;

use instance::{Coordinator, InstanceReport, SgaLayout, SgaSize, Task};
use journal::Journal;
use model::exit::ExitCode;
use model::{Calibration, CalibrationPoint, CasePlan, LogicalReads, Phase, Trial, Work};
use placement::hierarchy::Hierarchy;

use super::alternation::alternate;
use super::instance_launch::{InstanceLauncher, LOOK_EVERY, not_permitted, work_of};
use super::instance_validity::judged;
use super::plateau::{GAIN_MIN, plateau, work_unit_max};
use super::rhythm::Turn;
use super::trial_groups::TrialGroups;
use crate::{CalibrationSpec, Cancel, RoundSpec, TrialSpec, Workload, WorkloadError};

/// Time at each work unit of the calibration, in seconds.
const CALIBRATION_STEP_S: f64 = 0.12;

/// The embedded instance.
pub struct InstanceWorkload {
    launcher: InstanceLauncher,
    /// How windows of alternating trials take turns, once chosen.
    turn: Option<Turn>,
}

impl InstanceWorkload {
    /// Creates a workload that starts instance processes with `coordinator`.
    pub fn new(
        coordinator: Coordinator,
        hierarchy: Option<Hierarchy>,
        journal: Journal,
        data_directory: PathBuf,
    ) -> Self {
        let launcher = InstanceLauncher {
            coordinator,
            hierarchy,
            journal,
            data_directory,
        };
        InstanceWorkload {
            launcher,
            turn: None,
        }
    }

    /// Keeps the instance of a case running until `cancel` is raised, and passes its processes to
    /// `on_up` once they are up.
    ///
    /// # Errors
    /// When the instance cannot be created, or one of its processes ends early.
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
                message: format!("cannot hold case {:?}: {reason}", case.name),
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

    /// Carries out one task on one instance, and passes every report to `take` until it is done.
    /// The processes and the groups are gone afterwards, also on error.
    fn carry_out(
        &self,
        case: &CasePlan,
        work: LogicalReads,
        seed: u64,
        task: Task,
        cancel: &Cancel,
        take: &mut TakeReport<'_>,
    ) -> Result<(), WorkloadError> {
        let prepared = self.launcher.prepare(case, &work, None)?;
        let order = self.launcher.order_of(case, work, &prepared, seed, task);
        let mut running = match self.launcher.start(&order) {
            Ok(running) => running,
            // An instance that dies early may be gone before it reads its order. Ctrl-C ends one
            // that is being started, too, and this process may learn of it a moment later.
            Err(error) => {
                std::thread::sleep(LOOK_EVERY);
                return match cancel.is_cancelled() {
                    true => Err(WorkloadError::Cancelled),
                    false => take(error.into(), &prepared.groups).map(|_| ()),
                };
            }
        };
        let result = loop {
            if cancel.is_cancelled() {
                break Err(WorkloadError::Cancelled);
            }
            let step = match running.next_report(LOOK_EVERY) {
                Ok(Some(InstanceReport::NotPermitted { reason })) => Err(not_permitted(reason)),
                Ok(Some(report)) => take(report, &prepared.groups),
                Ok(None) => Ok(Step::GoOn),
                Err(error) => take(error.into(), &prepared.groups),
            };
            match step {
                Ok(Step::GoOn) => {}
                Ok(Step::Done) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // End the processes first: a group can only be removed when it is empty.
        drop(running);
        prepared.remove()?;
        result
    }
}

/// How an instance is kept running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// Seed of the physical order of rows and of the keys.
    pub seed: u64,
    /// Rows per statement.
    pub work_unit: u32,
    /// Whether the sessions are idle instead of running the load.
    pub idle: bool,
}

/// The processes of an instance that is kept running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldProcesses {
    /// The instance.
    pub instance_pid: u32,
    /// Its sessions.
    pub session_pids: Vec<u32>,
    /// Its database writers; none without updates.
    pub writer_pids: Vec<u32>,
}

/// The handler of each report of an instance, given its groups.
type TakeReport<'a> = dyn FnMut(InstanceReport, &TrialGroups) -> Result<Step, WorkloadError> + 'a;

/// Whether a task goes on after a report.
enum Step {
    GoOn,
    Done,
}

impl Workload for InstanceWorkload {
    fn rows_per_table(&mut self, case: &CasePlan) -> Option<u32> {
        let reads = case.logical_reads()?;
        let layout = SgaLayout::new(&SgaSize::of(&reads.sga, &reads.load));
        Some(layout.ok()?.rows_per_table())
    }

    fn calibrate(
        &mut self,
        case: &CasePlan,
        spec: &CalibrationSpec,
        on_point: &mut dyn FnMut(CalibrationPoint),
        cancel: &Cancel,
    ) -> Result<Option<Calibration>, WorkloadError> {
        let needs_none = |work: &LogicalReads| work.load.work_unit.is_some();
        if case.logical_reads().is_none_or(needs_none) {
            return Ok(None);
        }
        // One session, without caging, quota and updates: the sweep measures the cost of a
        // statement, not the effect of limits and writers.
        let mut work = work_of(case)?.clone();
        work.load.sessions = 1;
        work.load.cpu_count = None;
        work.load.update_pct = 0;
        work.load.cpu_quota = None;
        let work_unit_max = work_unit_max(spec.rows_max);
        let task = Task::Calibration {
            step_s: CALIBRATION_STEP_S,
            gain_min: GAIN_MIN,
            work_unit_max,
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
        self.carry_out(case, work, spec.seed, task, cancel, take)?;
        plateau(points, work_unit_max).map(Some)
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
            .unwrap_or_else(|| Trial::failed(spec.round, "the instance sent no report".to_owned())))
    }

    fn round(
        &mut self,
        cases: &[&CasePlan],
        spec: &RoundSpec<'_>,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Option<Vec<Trial>>, WorkloadError> {
        let turn = &mut self.turn;
        alternate(&self.launcher, turn, cases, spec, live, cancel).map(Some)
    }
}

/// Returns the task of an instance for a trial.
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

#[cfg(test)]
mod tests {
    use instance::Coordinator;
    use journal::Journal;
    use linux::own_program::OwnProgram;
    use model::exit::ExitCode;
    use model::{
        Allocation, Backing, CasePlan, LoadPlan, LogicalReads, Outcome, Placement, SgaPlan, Work,
    };

    use std::path::PathBuf;

    use super::InstanceWorkload;
    use crate::{Cancel, TrialSpec, Workload, WorkloadError};

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
        let coordinator = Coordinator(OwnProgram {
            program: program.into(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        });
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

    /// The second program ends before it reads its order.
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
