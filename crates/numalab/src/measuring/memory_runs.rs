//! Runs that measure memory itself: what `latency`, `bandwidth` and `run` in quick mode have in
//! common.

use experiment::memory::{self, MemoryPlaces};
use experiment::{Plan, RunRequest};
use linux::Root;
use model::exit::ExitCode;
use model::{Machine, Outcome, Run, RunStatus, StreamKernel, Trial, Work};

use report::RunView;

use crate::arguments::memory::MemoryArguments;
use crate::failure::Failure;
use crate::measuring::context::Context;
use crate::measuring::execution::Execution;
use crate::measuring::run_id;
use crate::output;

/// Assumed duration of a trial, in seconds, before the first one was made.
const TRIAL_S_GUESS: f64 = 0.5;

/// Rounds of the matrix in quick mode.
const SHORT: Rounds = Rounds {
    min: 5,
    max: 5,
    half_width_target: 0.02,
    within_s: 15.0,
};

/// How often a plan is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    /// Minimum number of rounds.
    pub min: u32,
    /// Maximum number of rounds.
    pub max: u32,
    /// Half-width of every interval, relative to its median, at which the run may end.
    pub half_width_target: f64,
    /// Seconds after which no trial starts.
    pub within_s: f64,
}

impl Rounds {
    /// Applies the user's options to these rounds. On an emulated machine, where figures mean
    /// nothing, one round proves the placement.
    pub(crate) fn asked(self, arguments: &MemoryArguments, emulated: bool) -> Self {
        let one = emulated.then_some(1);
        let exactly = arguments.rounds.or(one);
        Rounds {
            min: exactly.unwrap_or(self.min),
            max: exactly.unwrap_or(self.max),
            // On an emulated machine a cell takes about 0.1 s, and all cells must be proven.
            within_s: arguments.within.unwrap_or(match emulated {
                true => f64::from(u32::MAX),
                false => self.within_s,
            }),
            ..self
        }
    }
}

/// Returns what there is to see of a run, with its curves of latency under load.
pub(crate) fn view(run: &Run) -> RunView {
    let result = memory::bandwidth_result(std::slice::from_ref(run));
    RunView {
        curves: result.map_or_else(Vec::new, |result| result.ladders),
        ..report::run_view(run)
    }
}

/// Returns the fastest instructions for a kernel on this machine.
pub(crate) fn instructions(places: &MemoryPlaces, kernel: StreamKernel) -> Result<String, Failure> {
    let found = memory::fastest_instructions(&Root::live(), places, kernel)?;
    found.ok_or_else(|| {
        let name = kernel.name();
        let message = format!("this processor does not support {name}");
        Failure::new(ExitCode::MachineCannot, message).advise("choose another --kernel")
    })
}

/// Executes a plan.
pub(crate) fn execute(
    execution: &mut Execution,
    machine: Machine,
    plan: Plan,
    rounds: Rounds,
    seed: Option<u64>,
    doubts: &[String],
) -> Result<Run, Failure> {
    let now = jiff::Zoned::now();
    let request = RunRequest {
        id: execution.claim_id(&now)?,
        started_at: run_id::rfc_3339(&now),
        machine,
        window_s: kernel_window_s(&plan).unwrap_or(1.0),
        plan,
        seed: seed.unwrap_or_else(|| now.timestamp().as_nanosecond() as u64),
        warm_up_s_min: 0.0,
        warm_up_s_max: TRIAL_S_GUESS,
        trials_min: rounds.min,
        trials_max: rounds.max,
        time_bound_s: Some(rounds.within_s),
        alternates: false,
        leaves_out: false,
        half_width_target: rounds.half_width_target,
    };
    execution.execute(request, doubts)
}

/// Measures the matrix that precedes all experiments in quick mode and shows how far apart the
/// nodes are. Returns the reason if it cannot be measured.
///
/// # Errors
/// When the run cannot be executed or stored.
pub(crate) fn short_matrix(
    execution: &mut Execution,
    context: &Context,
    seed: Option<u64>,
    doubts: &[String],
) -> Result<Result<Run, String>, Failure> {
    let planned = || -> Result<_, Failure> {
        let mut places = MemoryPlaces::of(&context.host, None)?;
        let found = memory::find_working_set(&Root::live(), &context.host, &mut places)?;
        let plan = memory::latency_plan(&places)?;
        Ok((plan, places, found.map(|found| found.working_set)))
    };
    match planned() {
        Ok((plan, places, working_set)) => {
            let rounds = SHORT.asked(&MemoryArguments::default(), places.emulated);
            let machine = context.record(working_set);
            execute(execution, machine, plan, rounds, seed, doubts).map(Ok)
        }
        Err(failure) => Ok(Err(failure.message)),
    }
}

/// Returns the planned length of all windows of the longest trial of measuring kernels; for a
/// curve, the maximum. `None` where no kernel measures.
pub(crate) fn kernel_window_s(plan: &Plan) -> Option<f64> {
    let ns = |work: &Work| match work {
        Work::MemoryLatency(work) => Some(u64::from(work.windows) * work.window_ns),
        Work::LoadedLatency(work) => Some(u64::from(work.chase.windows) * work.chase.window_ns),
        Work::Stream(work) => Some(u64::from(work.windows) * work.window_ns),
        Work::LineTransfers(work) => {
            Some(u64::from(work.windows) * u64::from(work.round_trips) * 400)
        }
        Work::DepthCurve(_) => Some(1_000_000_000),
        _ => None,
    };
    let longest = plan.cases.iter().filter_map(|case| ns(&case.work)).max();
    longest.map(|ns| ns as f64 / 1e9)
}

/// Fails if a run was interrupted, a placement was not honoured, or nothing was measured. A case
/// without figures is no failure: a node may have no room.
pub(crate) fn conclusion(runs: &[Run]) -> Result<(), Failure> {
    for run in runs {
        if run.status == RunStatus::Interrupted {
            let id = &run.id;
            let message = format!("interrupted; the completed trials are kept as run {id}");
            return Err(Failure::new(ExitCode::Interrupted, message));
        }
    }
    let cases = || runs.iter().flat_map(|run| &run.cases);
    for case in cases() {
        let counts = |trial: &Trial| trial.valid_value().is_some();
        let last = case.trials.last().map(|trial| &trial.outcome);
        if let Some(Outcome::Invalid(reason)) = last
            && !case.trials.iter().any(counts)
        {
            let name = &case.plan.name;
            let message = format!("{name}: the placement was not honoured: {reason}");
            return Err(Failure::new(ExitCode::PlacementNotHonoured, message));
        }
    }
    let trials = cases().flat_map(|case| &case.trials);
    if trials.clone().any(|trial| trial.valid_value().is_some()) {
        return Ok(());
    }
    let reason = trials.last().map(|trial| trial.outcome.clone());
    let reason = match reason {
        Some(Outcome::Failed(reason)) => reason,
        _ => "not enough time for a single trial".to_owned(),
    };
    let message = format!("nothing was measured: {reason}");
    Err(Failure::new(ExitCode::WorkloadFailed, message))
}

/// Prints the notes of a plan to stderr.
pub(crate) fn tell_notes(plan: &Plan) {
    plan.notes.iter().for_each(|note| output::talk(note));
}
