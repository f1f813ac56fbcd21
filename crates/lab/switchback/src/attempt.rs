//! All of a session on a running target: it is watched as it was found, which decides by what and
//! how long to measure, and then the placements are tried.

use model::{JudgedBy, TryEnd, TryReport, counted};

use crate::sample::{Halt, Sample, Subject, observe};
use crate::session::{Course, session};
use crate::{Error, Live, Noise, judge_by, noise};

/// How long a target is watched first: this share of the session, within limits; where the window
/// is given, so many of them.
const WATCHED_SHARE: f64 = 0.1;
const WATCHED_S: (f64, f64) = (24.0, 150.0);
const WATCHED_WINDOWS: f64 = 12.0;
const WATCHED_WINDOWS_S: (f64, f64) = (12.0, 60.0);
/// A target that uses less of a CPU than this has no cost to judge by.
const CPU_MIN: f64 = 0.005;

/// What is asked of a session.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The figure that judges; `None`: by the rule.
    pub by: Option<JudgedBy>,
    /// The length of a window, in seconds; `None`: as the load needs it.
    pub window_s: Option<f64>,
    /// The shortest that the counter of work allows, in seconds.
    pub least_window_s: f64,
    /// A placement that is worse by this is taken back at once: 0.1.
    pub stop_loss: f64,
    /// Whether a placement has a quota.
    pub has_quota: bool,
    /// Whether figures mean anything: not on an emulated machine.
    pub is_judged: bool,
}

/// Tries the placements of `names`, the first of which is the current one, and completes the
/// report. Returns the number of the best one, if one is better.
///
/// # Errors
/// When a placement cannot be put into force, or there is no load to judge by.
pub fn attempt(
    live: &mut Live<'_>,
    names: Vec<String>,
    asked: &Asked,
    report: &mut TryReport,
) -> Result<Option<usize>, Error> {
    let course = match prepare(live, names, asked, report) {
        Ok(prepared) => prepared,
        Err(Halt::End(end, because)) => {
            (report.end, report.end_because) = (end, Some(because));
            report.seconds = live.now_s();
            return Ok(None);
        }
        Err(Halt::Failed(error)) => return Err(error),
    };
    let (course, watched) = course;
    let outcome = session(live, &course, &watched)?;
    report.seconds = live.now_s();
    report.lead_in_s = outcome.lead_in_s;
    report.end = outcome.end;
    report.end_because.clone_from(&outcome.because);
    let best = outcome.best();
    report.placements = outcome.placements;
    report.windows = outcome.windows;
    report.notes.extend(outcome.notes);
    if outcome.end == TryEnd::TimeOver && report.placements.iter().all(|it| it.ratio_low.is_none())
    {
        let note = "seven pairs are the fewest that can tell anything: give it longer (--for)";
        report.notes.push(note.to_owned());
    }
    Ok(best)
}

/// Watches the target as it was found, and decides how to go on.
fn prepare(
    live: &mut Live<'_>,
    names: Vec<String>,
    asked: &Asked,
    report: &mut TryReport,
) -> Result<(Course, Vec<Sample>), Halt> {
    let seconds = match asked.window_s {
        Some(window_s) => {
            let (least, most) = WATCHED_WINDOWS_S;
            (window_s * WATCHED_WINDOWS).clamp(least, most)
        }
        None => {
            let (least, most) = WATCHED_S;
            (report.seconds_max * WATCHED_SHARE).clamp(least, most)
        }
    };
    live.say(format!(
        "watching {} as it is for {seconds:.0} s",
        report.target
    ));
    let before = live.load()?;
    let watched = observe(live, seconds)?;
    let (by, because) = match asked.by {
        Some(by) => (by, "as asked for".to_owned()),
        None if asked.has_quota => {
            let because = "a quota limits work, not what a unit of it costs";
            (JudgedBy::Rate, because.to_owned())
        }
        None => judge_by(&before, &live.load()?),
    };
    (report.judged_by, report.judged_because) = (by, because);
    check_load(&watched, by, &report.unit)?;
    let noise = noise(&watched, by, asked.window_s, asked.least_window_s);
    (report.window_s, report.lead_in_s) = (noise.window_s, noise.lead_in_s);
    let left_s = report.seconds_max - live.now_s();
    for line in announcements(report, &noise, names.len(), left_s) {
        live.say(line);
    }
    let course = Course {
        names,
        by,
        window_s: noise.window_s,
        lead_in_s: noise.lead_in_s,
        until_s: report.seconds_max,
        gain: report.gain,
        stop_loss: asked.stop_loss,
        is_judged: asked.is_judged,
        seed: report.seed,
    };
    Ok((course, watched))
}

/// Refuses a target that does nothing.
fn check_load(watched: &[Sample], by: JudgedBy, unit: &str) -> Result<(), Error> {
    let known: Vec<&Sample> = watched.iter().filter(|it| it.work.is_some()).collect();
    let [first, .., last] = &known[..] else {
        let text = "the counter of work could not be read while the target was watched";
        return Err(Error::NoLoad(text.to_owned()));
    };
    let seconds = last.at_s - first.at_s;
    if last.work <= first.work {
        return Err(Error::NoLoad(format!(
            "the counter of {unit}s did not grow within {seconds:.0} s: there is no load to \
             judge by"
        )));
    }
    let cpu_s = last.cpu_s - first.cpu_s;
    if by == JudgedBy::Cost && cpu_s < CPU_MIN * seconds {
        return Err(Error::NoLoad(format!(
            "the target used {:.1} % of a CPU, too little to judge by its CPU time; --by rate \
             judges by work per second",
            cpu_s / seconds.max(f64::MIN_POSITIVE) * 100.0
        )));
    }
    Ok(())
}

fn announcements(report: &TryReport, noise: &Noise, windows: usize, left_s: f64) -> Vec<String> {
    let TryReport { unit, .. } = report;
    let by = match report.judged_by {
        JudgedBy::Cost => format!("CPU time of the target per {unit}"),
        JudgedBy::Rate => format!("{unit}s per second"),
    };
    let block_s = noise.block_s(windows);
    let pairs = (left_s / block_s).floor().max(0.0);
    let narrow = noise.half_width(pairs).map_or(String::new(), |half| {
        format!(
            "; then the interval will be about ± {:.1} %",
            half.exp_m1() * 100.0
        )
    });
    vec![
        format!("judged by {by}: {}", report.judged_because),
        format!(
            "windows of {:.0} s after a lead-in of {:.0} s: at most {}{narrow}",
            noise.window_s,
            noise.lead_in_s,
            counted(pairs as u64, "pair")
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_without_load_is_refused_by_name() {
        let sample = |at_s: f64, work: Option<u64>, cpu_s: f64| Sample {
            at_s,
            work,
            mix: None,
            cpu_s,
        };
        let check = |samples: &[Sample], by, expected: Option<&str>| {
            let found = check_load(samples, by, "command").err();
            let found = found.map(|error| error.to_string());
            match (&found, expected) {
                (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
                _ => assert_eq!(found.as_deref(), expected),
            }
        };
        let (cost, rate) = (JudgedBy::Cost, JudgedBy::Rate);
        let first = sample(0.0, Some(5), 1.0);
        check(&[first, sample(10.0, Some(9), 2.0)], cost, None);
        let once = [first, sample(10.0, None, 2.0)];
        check(&once, cost, Some("could not be read"));
        check(&[], cost, Some("could not be read"));
        check(
            &[first, sample(10.0, Some(5), 2.0)],
            rate,
            Some("commands did not grow"),
        );
        let idle = [first, sample(10.0, Some(9), 1.01)];
        check(&idle, cost, Some("used 0.1 % of a CPU"));
        check(&idle, rate, None);
    }
}
