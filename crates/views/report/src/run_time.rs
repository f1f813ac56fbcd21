//! Estimates how long a run would take, from its trials.

use model::{Measured, Run, Work};

/// Seconds that a trial takes besides warm-up and window, for other work and for a server:
/// processes are started and memory is filled; a server's cluster is created again.
const SET_UP_S: (f64, f64) = (2.0, 5.0);
/// Assumed warm-up where none was timed, in seconds.
const WARM_UP_S: f64 = 1.0;
/// Estimates are multiples of this many seconds.
const STEP_S: f64 = 30.0;

/// Returns a generous estimate of the seconds for this many rounds; `None` for an imported run.
pub(crate) fn rounds_s(run: &Run, rounds: usize) -> Option<u64> {
    let asked_s = run.window_s?;
    let trials = run.cases.iter().flat_map(|case| &case.trials);
    let measured: Vec<&Measured> = trials.filter_map(|it| it.measured.as_ref()).collect();
    // An external program determines its own window.
    let window_s: Vec<f64> = measured.iter().map(|it| it.window_s).collect();
    let window_s = stats::median(&window_s).unwrap_or(asked_s);
    let warm_up_s: Vec<f64> = measured.iter().filter_map(|it| it.warm_up_s).collect();
    let warm_up_s = stats::median(&warm_up_s).unwrap_or(match measured.is_empty() {
        true => WARM_UP_S,
        false => 0.0,
    });
    let is_server = |work: &Work| matches!(work, Work::Postgres(_));
    let set_up_s = match run.cases.iter().any(|case| is_server(&case.plan.work)) {
        true => SET_UP_S.1,
        false => SET_UP_S.0,
    };
    let trials = run.cases.iter().flat_map(|case| &case.trials);
    let took_s: Vec<f64> = trials.filter_map(|it| it.evidence.took_s).collect();
    let trial_s = stats::median(&took_s).unwrap_or(window_s + warm_up_s + set_up_s);
    let round_s = run.cases.len() as f64 * trial_s;
    let all_s = round_s * rounds as f64 * 1.25;
    // A damaged file may hold any window length.
    (all_s.is_finite() && all_s > 0.0 && all_s < 1e9)
        .then(|| ((all_s / STEP_S).ceil() * STEP_S) as u64)
}
