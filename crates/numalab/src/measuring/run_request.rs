//! The request of `numalab run`: the named experiment, and how long and how often its cases are
//! measured.

use std::io;

use experiment::{Definition, Plan, RunRequest, TRIALS_MIN};
use model::exit::ExitCode;

use crate::arguments::run::RunArguments;
use crate::failure::Failure;
use crate::measuring::context::Context;
use crate::measuring::execution::Execution;
use crate::measuring::memory_runs::kernel_window_s;
use crate::measuring::run_id;
use crate::output;

/// Default length of a window.
const WINDOW_S: f64 = 2.0;
/// Length of a window in quick mode.
const WINDOW_SHORT_S: f64 = 1.0;
/// Total length of the windows of a trial that alternate with those of others. Rounds are short and
/// many, because how much rounds differ matters more than how much is measured within one
/// (docs/measurement.md).
const WINDOWS_ALTERNATING_S: f64 = 0.8;
/// Default maximum of valid trials per case.
const TRIALS_MAX: u32 = 20;
/// The same if windows alternate.
const TRIALS_MAX_ALTERNATING: u32 = 40;
/// Half-width of every case's interval, relative to its median, at which a run may end.
const HALF_WIDTH_TARGET: f64 = 0.02;
/// The same if windows alternate, of ratios.
const HALF_WIDTH_TARGET_ALTERNATING: f64 = 0.01;
/// Longest warm-up: this multiple of the window, but at least this many seconds.
const WARM_UP_MAX: (f64, f64) = (2.0, 3.0);
/// Shortest warm-up in seconds.
const WARM_UP_MIN_S: f64 = 0.3;
/// Maximum size of an experiment file: /dev/zero is an error and does not exhaust memory.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Returns a shipped experiment by name, or one of the user's by file: a word with a slash or
/// ending in .toml.
pub(crate) fn definition(name: &str) -> Result<Definition, Failure> {
    if !name.contains('/') && !name.ends_with(".toml") {
        return Ok(experiment::find(name)?);
    }
    let text = text_of(name).map_err(|error| {
        Failure::new(
            ExitCode::Usage,
            format!("cannot read the experiment {name}: {error}"),
        )
    })?;
    Ok(Definition::parse(name, &text)?)
}

fn text_of(path: &str) -> io::Result<String> {
    let bytes = observed::read_named(path.as_ref(), FILE_BYTES_MAX)?;
    let not_text = |_| io::Error::other("not valid UTF-8");
    String::from_utf8(linux::plain_text(bytes)).map_err(not_text)
}

/// Returns the length of each window of trials made one after another.
pub(crate) fn window_s(arguments: &RunArguments) -> f64 {
    let usual = match arguments.experiment {
        Some(_) => WINDOW_S,
        None => WINDOW_SHORT_S,
    };
    arguments.seconds.unwrap_or(usual)
}

/// Builds the request for a run of a plan; `share_s` limits its time in quick mode.
pub(crate) fn request(
    execution: &mut Execution,
    arguments: &RunArguments,
    context: &Context,
    plan: Plan,
    share_s: Option<f64>,
) -> Result<RunRequest, Failure> {
    let now = jiff::Zoned::now();
    let obstacle = match arguments.one_after_another {
        true => Some("--one-after-another".to_owned()),
        false => experiment::alternation_obstacle(&plan.cases, &context.host),
    };
    if let Some(reason) = &obstacle {
        output::talk(&format!("running one trial after another: {reason}"));
    } else if let Some(which) = experiment::long_windows(&plan.cases) {
        output::talk(&which);
    }
    let alternates = obstacle.is_none();
    let (window_s, trials_max, half_width_target) = match alternates {
        true => (
            arguments.seconds.unwrap_or(WINDOWS_ALTERNATING_S),
            TRIALS_MAX_ALTERNATING,
            HALF_WIDTH_TARGET_ALTERNATING,
        ),
        // A measuring kernel has windows of its own.
        false => (
            kernel_window_s(&plan).unwrap_or_else(|| window_s(arguments)),
            TRIALS_MAX,
            HALF_WIDTH_TARGET,
        ),
    };
    Ok(RunRequest {
        id: execution.claim_id(&now)?,
        started_at: run_id::rfc_3339(&now),
        machine: context.record(None),
        plan,
        seed: arguments
            .seed
            .unwrap_or_else(|| now.timestamp().as_nanosecond() as u64),
        window_s,
        warm_up_s_min: WARM_UP_MIN_S,
        warm_up_s_max: (window_s * WARM_UP_MAX.0).max(WARM_UP_MAX.1),
        trials_min: arguments.trials.unwrap_or(TRIALS_MIN),
        trials_max: arguments.trials.unwrap_or(trials_max),
        time_bound_s: arguments.within.or(share_s),
        half_width_target,
        alternates,
        leaves_out: true,
    })
}
