//! Sentences for cases with too few trials: how many they have, and how to get more.

use model::{Run, RunStatus};

use crate::judgement_cases::{CaseJudgement, TRIALS_ENOUGH};
use crate::run_time::rounds_s;
use crate::verdict_words::{names, some_joined, trials, valid_trials};

/// Explains why there is no result, and what would help.
pub(crate) fn undecided(run: &Run, cases: &[&CaseJudgement]) -> String {
    let short = cases.iter().filter(|case| case.valid < TRIALS_ENOUGH);
    let short: Vec<&CaseJudgement> = short.copied().collect();
    let why = if short.is_empty() {
        "no difference is claimed: the values that were measured have no ratio".to_string()
    } else {
        format!("no difference is claimed: {}", too_few(run, &short))
    };
    match run.status {
        RunStatus::Interrupted => format!("the run was interrupted, so {why}"),
        RunStatus::Unfinished => format!("the run has not ended, so {why}"),
        RunStatus::Failed => format!("the run failed, so {why}"),
        RunStatus::Settled | RunStatus::Bounded | RunStatus::Imported => why,
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
    let more = more.map_or_else(String::new, |s| format!(" (`--within {s}` gives it)"));
    (!listed.is_empty()).then(|| format!("no time was left for {}{more}", names(&listed)))
}

/// Returns "A and B have 3 trials each, and an interval needs 5; `--within 120` gives the run time
/// for them".
pub(crate) fn too_few(run: &Run, cases: &[&CaseJudgement]) -> String {
    let have = without_interval(cases).unwrap_or_default();
    // More time makes up for trials that did not run, not for those that do not count.
    let lacks_time = cases.iter().all(|case| case.valid == case.trials());
    match rounds_s(run, TRIALS_ENOUGH) {
        Some(seconds) if lacks_time && run.status == RunStatus::Bounded => {
            format!("{have}; `--within {seconds}` gives the run time for them")
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
            "the {all} cases have {least} to {most}, and an interval needs {TRIALS_ENOUGH}"
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
    Some(format!("{said}, and an interval needs {TRIALS_ENOUGH}"))
}

/// Returns the smallest and the largest number of valid trials.
fn range(cases: &[&CaseJudgement]) -> Option<(usize, usize)> {
    let valid = || cases.iter().map(|case| case.valid);
    Some((valid().min()?, valid().max()?))
}
