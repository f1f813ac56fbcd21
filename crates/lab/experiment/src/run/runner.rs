//! The runner: calibrates, then runs rounds of trials until the stop rule or a bound is met.

use std::cell::Cell;
use std::collections::BTreeSet;

use model::exit::ExitCode;
use model::{Case, CasePlan, Event, Observer, ObserverError, Run, RunStatus, Skipped, Trial};

use super::observers::Observers;
use super::order::{calibration_seed, data_seed, shuffle_round, windows_seed};
use super::pace::Pace;
use super::request::{RunError, RunRequest};
use super::room::Room;
use super::same_number::same_number;
use super::stop_rule::StopRule;
use crate::{CalibrationSpec, Cancel, Clock, RoundSpec, TrialSpec, Workload, WorkloadError};

/// A round overran if it took more than this multiple of its share of the time. A round finishes
/// the block under way when its share is used up.
const OVER_ITS_SHARE: f64 = 1.2;

/// Rounds of alternating windows that share the time, if there is time for more than the minimum.
/// With few rounds, Student's t is what makes an interval wide; with many, starting them takes the
/// time.
const ROUNDS_AIM: u32 = 12;

/// Assumed minimum time of a case in a round of alternating windows before the first such round, in
/// seconds: processes, a small buffer cache and two windows, on two CPUs of a virtual machine.
const CASE_LEAST_S: f64 = 0.6;

/// Executes a run and returns it, ready to be stored.
///
/// An interruption is not an error: the run's status says so, and it holds every finished trial.
pub fn execute(
    request: RunRequest,
    workload: &mut dyn Workload,
    clock: &dyn Clock,
    observers: &mut [&mut dyn Observer],
    cancel: &Cancel,
) -> Result<Run, RunError> {
    request.check()?;
    let mut runner = Runner {
        rule: StopRule {
            baseline: request.plan.baseline.clone(),
            trials_min: request.trials_min,
            trials_max: request.trials_max,
            half_width_target: request.half_width_target,
            left_out: BTreeSet::new(),
        },
        pace: Pace::new(&request, clock),
        window_s: request.window_s,
        warm_up_s: (request.warm_up_s_min, request.warm_up_s_max),
        alternates: request.alternates,
        leaves_out: request.leaves_out,
        case_least_s: None,
        closing_s: 0.0,
        run: unfinished(request),
        workload,
        observers: Observers::new(observers),
        cancel,
    };
    let ending = runner.until_it_ends();
    runner.finish(ending)
}

/// Returns the run before anything has happened.
fn unfinished(request: RunRequest) -> Run {
    let plan = request.plan;
    let case = |plan: CasePlan| Case {
        plan,
        trials: Vec::new(),
    };
    Run {
        id: request.id,
        experiment: plan.experiment,
        question: plan.question,
        definition: plan.definition,
        started_at: request.started_at,
        status: RunStatus::Unfinished,
        machine: Some(request.machine),
        seed: request.seed,
        metric: plan.metric,
        baseline: plan.baseline,
        asks_about_memory: plan.asks_about_memory,
        window_s: Some(request.window_s),
        calibration: None,
        cases: plan.cases.into_iter().map(case).collect(),
        skipped: plan.skipped.into_iter().map(Skipped::from).collect(),
    }
}

/// Why a run ends before the stop rule or a bound ends it.
enum Stop {
    Interrupted,
    Observer(ObserverError),
    Workload(WorkloadError),
}

impl From<ObserverError> for Stop {
    fn from(error: ObserverError) -> Self {
        Stop::Observer(error)
    }
}

impl From<WorkloadError> for Stop {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Cancelled => Stop::Interrupted,
            fatal => Stop::Workload(fatal),
        }
    }
}

/// A run in progress.
struct Runner<'r, 'b> {
    run: Run,
    rule: StopRule,
    pace: Pace<'r>,
    /// Length of each measured window.
    window_s: f64,
    /// Shortest and longest warm-up.
    warm_up_s: (f64, f64),
    alternates: bool,
    leaves_out: bool,
    /// Time of a case in the last round, if its windows alternated and the round overran with the
    /// fewest windows.
    case_least_s: Option<f64>,
    /// How long the last round went on after its time was over: its last block, and its end.
    closing_s: f64,
    workload: &'r mut dyn Workload,
    observers: Observers<'r, 'b>,
    cancel: &'r Cancel,
}

impl Runner<'_, '_> {
    fn until_it_ends(&mut self) -> Result<RunStatus, Stop> {
        self.observers.tell(&Event::RunStarted {
            run: &self.run,
            trials_at_most: self.rule.trials_left(&self.run.cases),
        })?;
        let work_unit = self.calibrate()?;
        for round in 0.. {
            if let Some(message) = same_number(&self.run.cases) {
                let exit_code = ExitCode::WorkloadFailed;
                return Err(WorkloadError::Fatal { message, exit_code }.into());
            }
            if let Some(status) = self.rule.verdict(&self.run.cases) {
                return Ok(status);
            }
            if let Some(status) = self.round(round, work_unit)? {
                return Ok(status);
            }
        }
        Ok(RunStatus::Bounded)
    }

    /// Calibrates the work unit on the baseline, if the work has one.
    fn calibrate(&mut self) -> Result<Option<u32>, Stop> {
        let run = &self.run;
        let is_baseline = |case: &&Case| case.plan.name == run.baseline;
        let case = run.cases.iter().find(is_baseline);
        let case = &case
            .expect("a checked request has its baseline among its cases")
            .plan;
        let rows = run.cases.iter();
        let rows = rows.filter_map(|case| self.workload.rows_per_table(&case.plan));
        let spec = CalibrationSpec {
            seed: calibration_seed(run.seed),
            rows_max: rows.min(),
        };
        let mut telling = Telling::new(&mut self.observers, self.cancel);
        let cancel = telling.cancel.clone();
        let outcome = self.workload.calibrate(
            case,
            &spec,
            &mut |point| telling.tell(&Event::CalibrationPoint(point)),
            &cancel,
        );
        telling.outcome?;
        let Some(calibration) = outcome? else {
            return Ok(None);
        };
        self.observers.tell(&Event::Calibrated(&calibration))?;
        let work_unit = calibration.work_unit;
        self.run.calibration = Some(calibration);
        Ok(Some(work_unit))
    }

    /// Runs a round: each case that has not ended, once. Returns `Some` when the time bound ends
    /// the run.
    fn round(&mut self, round: u32, work_unit: Option<u32>) -> Result<Option<RunStatus>, Stop> {
        self.leave_out_what_has_no_time();
        let has_ended = |case: &Case| self.rule.has_ended(case);
        let cases = self.run.cases.iter().enumerate();
        let mut order: Vec<usize> = cases
            .filter(|(_, case)| !has_ended(case))
            .map(|(index, _)| index)
            .collect();
        let must_be_made = self.rule.rounds_lacking(&self.run.cases) > 0;
        if !must_be_made && !self.pace.has_time_for(order.len()) {
            return Ok(Some(RunStatus::Bounded));
        }
        shuffle_round(self.run.seed, round, &mut order);
        let spec = TrialSpec {
            round,
            seed: data_seed(self.run.seed, round),
            work_unit,
            window_s: self.window_s,
            warm_up_s_min: self.warm_up_s.0,
            warm_up_s_max: self.warm_up_s.1,
        };
        if self.alternates && order.len() > 1 {
            if self.pace.trials_done > 0 && self.pace.is_long_over() {
                return Ok(Some(RunStatus::Bounded));
            }
            return self.alternating(&order, spec);
        }
        for index in order {
            if self.cancel.is_cancelled() {
                return Err(Stop::Interrupted);
            }
            if self.pace.is_over() {
                return Ok(Some(RunStatus::Bounded));
            }
            self.trial(index, &spec)?;
        }
        Ok(None)
    }

    /// Leaves out cases when there is no time to give all of them the minimum number of trials.
    fn leave_out_what_has_no_time(&mut self) {
        let is_first = self.pace.trials_done == 0;
        let case_s = match self.alternates {
            true if is_first => Some(CASE_LEAST_S),
            true => self.case_least_s,
            false => (!is_first).then(|| self.pace.trial_s()),
        };
        let Some(case_s) = case_s.filter(|_| self.leaves_out) else {
            return;
        };
        let room = Room {
            rounds: self.rule.rounds_lacking(&self.run.cases),
            left_s: self.pace.until_bound_s(),
            case_s,
        };
        if room.rounds > 0 {
            let left_out = room.left_out(&self.run.cases, &self.rule.baseline);
            let names = left_out.into_iter();
            let names = names.map(|index| self.run.cases[index].plan.name.clone());
            self.rule.left_out.extend(names);
        }
    }

    /// Runs the trials of a round at once, with alternating windows.
    fn alternating(
        &mut self,
        order: &[usize],
        trial: TrialSpec,
    ) -> Result<Option<RunStatus>, Stop> {
        for index in order {
            self.tell_of_start(*index, &trial)?;
        }
        let begun_s = self.pace.clock.now_s();
        let lacking = self.rule.rounds_lacking(&self.run.cases);
        let rounds = lacking.max(ROUNDS_AIM.saturating_sub(trial.round)).max(1);
        let share_s = self.pace.until_bound_s() / f64::from(rounds);
        let ends_s = share_s - self.closing_s;
        let has_gone_on = Cell::new(false);
        let mut telling = Telling::new(&mut self.observers, self.cancel);
        let cancel = telling.cancel.clone();
        let mut live = |phase, value| telling.tell(&Event::TrialProgress { phase, value });
        let pace = &self.pace;
        let spec = RoundSpec {
            trial,
            order_seed: windows_seed(self.run.seed, trial.round),
            is_over: &|| {
                let is_over = pace.clock.now_s() - begun_s >= ends_s;
                has_gone_on.set(has_gone_on.get() || !is_over);
                is_over
            },
        };
        let cases = order.iter().map(|index| &self.run.cases[*index].plan);
        let cases: Vec<&CasePlan> = cases.collect();
        let outcome = self.workload.round(&cases, &spec, &mut live, &cancel);
        telling.outcome?;
        let Some(trials) = outcome? else {
            return Err(Stop::Workload(WorkloadError::Fatal {
                message: "this work cannot be measured in turns".to_owned(),
                exit_code: ExitCode::Bug,
            }));
        };
        let took_s = self.pace.add_trials_since(begun_s, order.len());
        let round_s = took_s * order.len() as f64;
        let is_too_long = round_s > share_s * OVER_ITS_SHARE && !has_gone_on.get();
        self.case_least_s = is_too_long.then_some(took_s);
        self.closing_s = match has_gone_on.get() {
            true => (round_s - ends_s).max(0.0),
            false => self.closing_s,
        };
        for (index, mut made) in order.iter().zip(trials) {
            made.round = trial.round;
            made.evidence.took_s = Some(took_s);
            self.keep(*index, made)?;
        }
        Ok(None)
    }

    fn tell_of_start(&mut self, index: usize, spec: &TrialSpec) -> Result<(), Stop> {
        let left = self.rule.trials_left(&self.run.cases);
        Ok(self.observers.tell(&Event::TrialStarted {
            case: &self.run.cases[index].plan.name,
            round: spec.round,
            trials_done: self.pace.trials_done,
            seconds_left: self.pace.seconds_left(left),
        })?)
    }

    fn keep(&mut self, index: usize, trial: Trial) -> Result<(), Stop> {
        self.observers.tell(&Event::TrialFinished {
            case_index: index,
            case: &self.run.cases[index].plan.name,
            trial: &trial,
        })?;
        self.run.cases[index].trials.push(trial);
        Ok(())
    }

    fn trial(&mut self, index: usize, spec: &TrialSpec) -> Result<(), Stop> {
        self.tell_of_start(index, spec)?;
        let case = &self.run.cases[index].plan;
        let begun_s = self.pace.clock.now_s();
        let mut telling = Telling::new(&mut self.observers, self.cancel);
        let cancel = telling.cancel.clone();
        let mut live = |phase, value| telling.tell(&Event::TrialProgress { phase, value });
        let outcome = self.workload.trial(case, spec, &mut live, &cancel);
        telling.outcome?;
        let mut trial = outcome?;
        trial.round = spec.round;
        trial.evidence.took_s = Some(self.pace.add_trials_since(begun_s, 1));
        self.keep(index, trial)
    }

    /// Records how the run ended and notifies the observers.
    fn finish(mut self, ending: Result<RunStatus, Stop>) -> Result<Run, RunError> {
        self.run.status = match &ending {
            Ok(status) => *status,
            Err(Stop::Interrupted) => RunStatus::Interrupted,
            Err(Stop::Observer(_) | Stop::Workload(_)) => RunStatus::Failed,
        };
        let told = self.observers.tell(&Event::RunFinished {
            status: self.run.status,
        });
        let run = Box::new(self.run);
        match (ending, told) {
            (Err(Stop::Observer(error)), _) => Err(RunError::Observer { error, run }),
            (Err(Stop::Workload(WorkloadError::Fatal { message, exit_code })), _) => {
                Err(RunError::Workload {
                    message,
                    exit_code,
                    run,
                })
            }
            (_, Err(error)) => Err(RunError::Observer { error, run }),
            (_, Ok(())) => Ok(*run),
        }
    }
}

/// Notifies observers from within a workload, which cannot pass on their failure: it is kept here,
/// and the workload is cancelled.
struct Telling<'t, 'o, 'b> {
    observers: &'t mut Observers<'o, 'b>,
    outcome: Result<(), ObserverError>,
    cancel: Cancel,
}

impl<'t, 'o, 'b> Telling<'t, 'o, 'b> {
    fn new(observers: &'t mut Observers<'o, 'b>, cancel: &Cancel) -> Self {
        Telling {
            observers,
            outcome: Ok(()),
            cancel: cancel.child(),
        }
    }

    fn tell(&mut self, event: &Event<'_>) {
        if self.outcome.is_ok() {
            self.outcome = self.observers.tell(event);
        }
        if self.outcome.is_err() {
            self.cancel.cancel();
        }
    }
}
