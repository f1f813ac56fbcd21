//! Where the time of a run went.

use model::{Case, Run, Trial, Work, counted};
use serde::Serialize;

use crate::run::figures::seconds;

/// The measured part of the time that trials took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct TimeSpent {
    /// Seconds that all trials took, from the start of their processes to the end.
    pub trials_s: f64,
    /// Seconds of these in measured windows, including windows that do not count.
    pub windows_s: f64,
}

impl TimeSpent {
    /// Returns the time spent; `None` where it was not recorded.
    pub(crate) fn of(run: &Run) -> Option<Self> {
        let trials = run.cases.iter().flat_map(|case| &case.trials);
        let mut spent = TimeSpent {
            trials_s: 0.0,
            windows_s: 0.0,
        };
        for trial in trials {
            spent.trials_s += trial.evidence.took_s?;
            spent.windows_s += windows_s(trial);
        }
        (spent.trials_s > 0.0).then_some(spent)
    }

    /// Returns `61 % of the 74.2 s that trials took were measured`.
    pub(crate) fn sentence(&self) -> String {
        let share = 100.0 * self.windows_s / self.trials_s;
        format!(
            "{share:.0} % of the {} that the trials took was measured",
            seconds(self.trials_s)
        )
    }
}

/// Returns the seconds of all windows of a trial, including windows that do not count.
fn windows_s(trial: &Trial) -> f64 {
    let Some(measured) = &trial.measured else {
        return 0.0;
    };
    let samples = measured.sessions.as_ref().map(|it| &it.samples);
    let samples = samples.filter(|_| trial.has_alternated());
    let all = samples.map_or(1, Vec::len);
    let kept = samples.map_or(1, |it| it.iter().filter(|it| !it.left_out).count());
    measured.window_s.unwrap_or(0.0) * all as f64 / kept.max(1) as f64
}

/// Describes the windows of a run: `windows of 2.0 s`, or, where they alternated, `160 windows of
/// 5.0 ms per trial, alternating with those of the other cases`.
pub(crate) fn windows(run: &Run, asked_s: f64) -> String {
    match in_turns(run) {
        None => alone(run, asked_s),
        Some(turns) => format!("{turns} per trial, alternating with those of the other cases"),
    }
}

/// Describes the windows briefly, to follow the number of trials.
pub(crate) fn short(run: &Run, asked_s: f64) -> String {
    match in_turns(run) {
        None if is_of_programs(run) => "windows as the program took".to_owned(),
        None => format!("windows of {}", seconds(asked_s)),
        // That they alternated fits on no line of 80 columns beside windows of two lengths.
        Some(turns) => turns,
    }
}

/// Describes windows that did not alternate: they are as long as was asked, or as a program took.
fn alone(run: &Run, asked_s: f64) -> String {
    if !is_of_programs(run) {
        return format!("windows of {}", seconds(asked_s));
    }
    let trials = run.cases.iter().flat_map(|case| &case.trials);
    let measured = trials.filter_map(|trial| trial.measured.as_ref()?.window_s);
    let (low, high) = measured.fold((f64::INFINITY, 0.0_f64), |(low, high), it| {
        (low.min(it), high.max(it))
    });
    match low <= high {
        true => format!(
            "windows of {} to {}, as long as the program took",
            seconds(low),
            seconds(high)
        ),
        false => "windows as long as the program takes".to_owned(),
    }
}

/// Whether external programs determine the windows.
fn is_of_programs(run: &Run) -> bool {
    let is_program = |case: &Case| matches!(case.plan.work, Work::Command(_));
    !run.cases.is_empty() && run.cases.iter().all(is_program)
}

/// Describes the windows of the first alternating trial of each case: `160 windows of 5.0 ms`, or
/// `8 to 160 windows of 5.0 ms to 0.1 s` where some cases need long ones.
fn in_turns(run: &Run) -> Option<String> {
    let of_case = |case: &Case| {
        let mut trials = case.trials.iter();
        trials.find_map(|trial| {
            let window_s = trial.evidence.parked?.window_s?;
            Some(((windows_s(trial) / window_s).round() as usize, window_s))
        })
    };
    let turns = run.cases.iter().filter_map(of_case);
    let widest = |(low, high): (Turns, Turns), it: Turns| {
        let low = (low.0.min(it.0), low.1.min(it.1));
        (low, (high.0.max(it.0), high.1.max(it.1)))
    };
    let turns = turns.map(|it| (it, it));
    let Some((low, high)) = turns.reduce(|both, it| widest(both, it.0)) else {
        return samples_in_turns(run);
    };
    if low == high {
        return Some(format!(
            "{} of {}",
            counted(low.0, "window"),
            seconds(low.1)
        ));
    }
    let count = match low.0 == high.0 {
        true => String::new(),
        false => format!("{} to ", low.0),
    };
    let count = format!("{count}{}", counted(high.0, "window"));
    Some(format!(
        "{count} of {} to {}",
        seconds(low.1),
        seconds(high.1)
    ))
}

/// Describes the windows of the first alternating trial of a run in which each is a sample: one of
/// a version without short windows.
fn samples_in_turns(run: &Run) -> Option<String> {
    let trials = run.cases.iter().flat_map(|case| &case.trials);
    let mut alternated = trials.filter(|trial| trial.has_alternated());
    alternated.find_map(|trial| {
        let measured = trial.measured.as_ref()?;
        let count = measured.sessions.as_ref()?.samples.len();
        let window_s = windows_s(trial) / count as f64;
        Some(format!(
            "{} of {}",
            counted(count, "window"),
            seconds(window_s)
        ))
    })
}

/// Number and length of the windows of a trial.
type Turns = (usize, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_is_said_of_what_it_took() {
        let spent = TimeSpent {
            trials_s: 80.0,
            windows_s: 50.0,
        };
        let expected = "62 % of the 80.0 s that the trials took was measured";
        assert_eq!(spent.sentence(), expected);
    }
}
