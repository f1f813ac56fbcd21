//! `cargo xtask bench verdict`: what alternating windows are worth on this machine, as it is.
//!
//! The former way, one trial after another, and alternating windows take turns on the same
//! experiment for the same time: how wide is the interval of the ratio, and does it exclude 1? Then
//! a case runs against itself, and against cases that are dearer by a known share: how often is
//! there a false winner, and does the interval include the truth?

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use super::harness::{Harness, number};
use super::turns::Median;

/// Two cases to be told apart, one case twice, and a case and dearer ones.
const TWO: &str = include_str!("verdict_two.toml");
const SAME: &str = include_str!("verdict_same.toml");
const HANDICAPS: &str = include_str!("verdict_handicaps.toml");
/// A case with short windows, and others that these might favour or hurt.
const SHORT: &str = include_str!("verdict_short.toml");
const SHORT_CASES: [&str; 2] = ["pressed", "apart"];
/// How much ratios of cases in turns may differ from those of the same cases one after another: of
/// the latter, the intervals are a tenth wide.
const SHORT_TOLERANCE: f64 = 0.1;
/// The shipped experiment whose share of time in windows is measured.
const SHIPPED: &str = "binding-vs-caging";

/// Number of turns of the two ways, and time limit of each of their runs in seconds: made one after
/// another, five trials of each case need most of it.
const TURNS: usize = 5;
const TURN_S: &str = "40";
/// Seconds of a run of the shipped experiment.
const SHIPPED_S: &str = "75";
/// Minimum share of a run's time in measured windows, in per cent.
const SHARE_MIN: f64 = 60.0;
/// Runs of one case twice, and how often it may have a winner: more are rarer than once in twenty
/// times, by the binomial distribution with the rate of a 95 % interval (P(X <= 4) is 0.952).
const SAME_RUNS: (u32, u32) = (40, 4);
/// The same for the size of a handicap that is not in the interval (P(X <= 3) is 0.984).
const HANDICAP_RUNS: (u32, u32) = (20, 3);

/// Maximum half-width of the ratio of cases that share their memory, in per cent, in the median.
const HALF_WIDTH_MAX: f64 = 3.0;

/// A case of known time, in per cent of the baseline's, and in how many runs at least it must be
/// told apart.
struct Aim {
    case: &'static str,
    percent: f64,
    found_min: u32,
}

const BEFORE: &str = "one after another";
const NOW: &str = "windows in turns";

pub(super) fn run(harness: &mut Harness) -> Result<()> {
    in_turns(harness)?;
    as_by_themselves(harness)?;
    share_in_windows(harness)?;
    let same = [Aim {
        case: "other",
        percent: 100.0,
        found_min: 0,
    }];
    coverage(harness, (SAME, "10"), SAME_RUNS, &same)?;
    let dearer = [
        ("dearer-3", 103.0, 18),
        ("dearer-5", 105.0, 20),
        ("dearer-10", 110.0, 20),
    ];
    let dearer = dearer.map(|(case, percent, found_min)| Aim {
        case,
        percent,
        found_min,
    });
    coverage(harness, (HANDICAPS, "20"), HANDICAP_RUNS, &dearer)
}

/// Runs an experiment for this many seconds.
fn run_of(harness: &Harness, text: &str, within_s: &str, options: &[&str]) -> Result<Value> {
    let usual = ["--anyway", "--within", within_s];
    harness.experiment(text, &[&usual[..], options].concat())
}

/// Returns the ratio of a case to the baseline, as the document has it.
fn compared(run: &Value, case: &str) -> Result<Median> {
    let lists = ["comparisons", "controls"].map(|key| run[key].as_array());
    let mut all = lists.into_iter().flatten().flatten();
    let found = all.find(|it| it["case"] == case);
    let found = found.with_context(|| format!("{case} is not compared"))?;
    Ok(Median {
        median: number(found, "/ratio")?,
        low: number(found, "/low")?,
        high: number(found, "/high")?,
    })
}

fn holds(interval: &Median, ratio: f64) -> bool {
    (interval.low..=interval.high).contains(&ratio)
}

/// Returns half the width of an interval, relative to the ratio.
fn half_width(interval: &Median) -> f64 {
    (interval.high - interval.low) / 2.0 / interval.median
}

fn in_turns(harness: &mut Harness) -> Result<()> {
    let turns = harness.turns(TURNS, &[BEFORE, NOW], |way| {
        let options: &[&str] = match way {
            BEFORE => &["--one-after-another"],
            _ => &[],
        };
        let run = run_of(harness, TWO, TURN_S, options)?;
        let found = compared(&run, "binding-and-caging")?;
        println!("{way}: {found}");
        Ok(half_width(&found))
    })?;
    turns.print("half-width of the ratio", 0.01, "%")?;
    // The aim on a noisy machine is a third; this holds on any machine.
    let (now, before) = (turns.median(NOW)?.median, turns.median(BEFORE)?.median);
    let (ratio, claims) = (Median::of(&[now / before])?, &mut harness.claims);
    claims.at_most("half-width", ratio, 1.0, "times the former");
    Ok(())
}

/// Compares what cases do in short windows with what they do in trials of their own.
fn as_by_themselves(harness: &mut Harness) -> Result<()> {
    let mut found = BTreeMap::new();
    for _ in 0..TURNS {
        for (way, options) in [(BEFORE, &["--one-after-another"][..]), (NOW, &[])] {
            let run = run_of(harness, SHORT, TURN_S, options)?;
            for case in SHORT_CASES {
                let ratio = compared(&run, case)?.median;
                let ratios: &mut Vec<f64> = found.entry((case, way)).or_default();
                ratios.push(ratio);
            }
        }
    }
    for case in SHORT_CASES {
        let (now, before) = (&found[&(case, NOW)], &found[&(case, BEFORE)]);
        let ratios: Vec<f64> = now
            .iter()
            .zip(before)
            .map(|(it, other)| it / other)
            .collect();
        let what = format!("{case}: in turns, of {BEFORE}");
        let ratio = Median::of(&ratios)?;
        harness.claims.near_one(&what, ratio, SHORT_TOLERANCE);
    }
    Ok(())
}

fn share_in_windows(harness: &mut Harness) -> Result<()> {
    let began = Instant::now();
    let run = harness.json(&["run", SHIPPED, "--anyway", "--within", SHIPPED_S])?;
    let all_s = began.elapsed().as_secs_f64();
    let share = Median::of(&[100.0 * number(&run, "/time/windows_s")? / all_s])?;
    let what = format!("measured windows of the {all_s:.0} s of `run {SHIPPED}`");
    harness.claims.at_least(&what, share, SHARE_MIN, "%");
    Ok(())
}

/// Runs an experiment so many times, and counts how often the interval of a case misses the ratio
/// that it has, in per cent of the baseline's time.
fn coverage(
    harness: &mut Harness,
    (text, within_s): (&str, &str),
    (runs, most): (u32, u32),
    aims: &[Aim],
) -> Result<()> {
    let mut counts = vec![(0, 0, Vec::new()); aims.len()];
    for _ in 0..runs {
        let run = run_of(harness, text, within_s, &[])?;
        for (aim, (apart, missed, widths)) in aims.iter().zip(&mut counts) {
            let Ok(found) = compared(&run, aim.case) else {
                // There was no time for this case: no answer, but no wrong one either.
                continue;
            };
            println!("{}: {found}", aim.case);
            *apart += u32::from(!holds(&found, 1.0));
            *missed += u32::from(!holds(&found, 100.0 / aim.percent));
            widths.push(100.0 * half_width(&found));
        }
    }
    for (aim, (apart, missed, widths)) in aims.iter().zip(counts) {
        let (case, runs) = (aim.case, widths.len());
        let half_width = Median::of(&widths)?;
        let found = format!(
            "{case}: the truth not in the interval in {missed} of {runs} runs of {within_s} s"
        );
        let claim = format!("in at most {most}");
        harness.claims.add(&found, &claim, missed <= most);
        let found = format!("{case}: told apart in {apart} of {runs} runs");
        let claim = format!("in at least {}", aim.found_min);
        harness.claims.add(&found, &claim, apart >= aim.found_min);
        let what = format!("{case}: half-width");
        harness
            .claims
            .at_most(&what, half_width, HALF_WIDTH_MAX, "%");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{compared, half_width, holds};

    #[test]
    fn a_comparison_is_read() {
        let run = json!({
            "comparisons": [{ "case": "other", "ratio": 0.9, "low": 0.8, "high": 1.1 }],
        });
        let found = compared(&run, "other").unwrap();
        assert!(holds(&found, 1.1) && !holds(&found, 1.11) && holds(&found, 0.8));
        assert!((half_width(&found) - 1.0 / 6.0).abs() < 1e-9);
        assert!(compared(&run, "one").is_err());
    }
}
