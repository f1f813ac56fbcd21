//! Sentences for cases with too few trials: how many they have, how to get more, and how long that
//! would take.

use model::{Measured, Run, RunStatus, Work};
use verdict::{CaseJudgement, TRIALS_ENOUGH};

use crate::run::status::broken_off;
use crate::verdict_words::names::{names, some_joined, trials, valid_trials};

/// Explains why there is no result, and what would help.
pub(crate) fn undecided(run: &Run, cases: &[&CaseJudgement]) -> String {
    let short = cases.iter().filter(|case| case.valid < TRIALS_ENOUGH);
    let short: Vec<&CaseJudgement> = short.copied().collect();
    let why = if short.is_empty() {
        "undecided: the measured values have no ratio".to_string()
    } else {
        format!("undecided: {}", too_few(run, &short))
    };
    match broken_off(run.status) {
        Some(how) => format!("{how}; {why}"),
        None => why,
    }
}

/// Returns whether a run left out a case for lack of time: all its trials count, and other cases
/// have enough.
pub(crate) fn had_no_time(run: &Run, cases: &[CaseJudgement], case: &CaseJudgement) -> bool {
    run.status == RunStatus::Bounded
        && case.valid < TRIALS_ENOUGH
        && case.valid == case.trials()
        && cases.iter().any(|it| it.valid >= TRIALS_ENOUGH)
}

/// Returns "no time was left for A and B (`--within 120` gives it)".
pub(crate) fn no_time(run: &Run, cases: &[&CaseJudgement]) -> Option<String> {
    let listed: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let more = rounds_s(run, TRIALS_ENOUGH);
    let more = more.map_or_else(String::new, |s| format!(" (use `--within {s}`)"));
    (!listed.is_empty()).then(|| format!("not enough time for {}{more}", names(&listed)))
}

/// Returns "A and B have 3 trials each, and an interval needs 5; `--within 120` gives the run time
/// for them".
pub(crate) fn too_few(run: &Run, cases: &[&CaseJudgement]) -> String {
    let have = without_interval(cases).unwrap_or_default();
    // More time makes up for trials that did not run, not for those that do not count.
    let lacks_time = cases.iter().all(|case| case.valid == case.trials());
    match rounds_s(run, TRIALS_ENOUGH) {
        Some(seconds) if lacks_time && run.status == RunStatus::Bounded => {
            format!("{have}; use `--within {seconds}`")
        }
        _ => have,
    }
}

/// Returns "A and B have 3 trials each, and an interval needs 5".
pub(crate) fn without_interval(cases: &[&CaseJudgement]) -> Option<String> {
    let mut counted: Vec<((usize, usize), Vec<&str>)> = Vec::new();
    for case in cases {
        let count = (case.valid, case.trials());
        match counted.iter_mut().find(|(known, _)| *known == count) {
            Some((_, names)) => names.push(&case.name),
            None => counted.push((count, vec![&case.name])),
        }
    }
    // Summarize many different counts as a range.
    if let (true, Some((least, most))) = (counted.len() > 1 && cases.len() > 3, range(cases)) {
        let all = cases.len();
        let most = match cases.iter().all(|case| case.valid == case.trials()) {
            true => trials(most),
            false => valid_trials(most),
        };
        return Some(format!(
            "the {all} cases have {least} to {most}, but an interval needs {TRIALS_ENOUGH}"
        ));
    }
    let said = counted.iter().map(|((valid, all), cases)| {
        let trials = match valid == all {
            true => trials(*valid),
            false => format!("{} of {all}", valid_trials(*valid)),
        };
        match cases.len() {
            1 => format!("{} has {trials}", names(cases)),
            _ => format!("{} have {trials} each", names(cases)),
        }
    });
    let said = some_joined(said)?;
    Some(format!("{said}, but an interval needs {TRIALS_ENOUGH}"))
}

/// Returns the smallest and the largest number of valid trials.
fn range(cases: &[&CaseJudgement]) -> Option<(usize, usize)> {
    let valid = || cases.iter().map(|case| case.valid);
    Some((valid().min()?, valid().max()?))
}

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
    let window_s: Vec<f64> = measured.iter().filter_map(|it| it.window_s).collect();
    let window_s = stats::median(&window_s).unwrap_or(asked_s);
    let warm_up_s: Vec<f64> = measured.iter().filter_map(|it| it.warm_up_s).collect();
    let warm_up_s = stats::median(&warm_up_s).unwrap_or(match measured.is_empty() {
        true => WARM_UP_S,
        false => 0.0,
    });
    let is_server = |work: &Work| matches!(work, Work::Server(..));
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
