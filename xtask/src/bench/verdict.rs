//! `cargo xtask bench verdict`: what alternating windows are worth on this machine, as it is.
//!
//! The former way, one trial after another, and alternating windows take turns on the same
//! experiment for the same time: how wide is the interval of the ratio, and after how long does it
//! exclude 1? Then a case runs against itself, and against cases that are dearer by a known share,
//! as often as --repeat says: how often is there a false winner, and does the interval include the
//! truth?

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use stats::{median, ratio_of_pairs};

use super::claims::Claims;
use super::own_binary::OwnBinary;
use super::verdict_run::{CONFIDENCE, Found, by_predecessor, told_apart_s};

/// Two cases to be told apart.
const TWO: &str = include_str!("verdict_two.toml");
/// One case twice.
const SAME: &str = include_str!("verdict_same.toml");
/// A case, and dearer ones.
const HANDICAPS: &str = include_str!("verdict_handicaps.toml");
/// The shipped experiment whose share of time in windows is measured.
const SHIPPED: &str = "binding-vs-caging";

/// Number of turns of the two ways, and time limit of each of their runs in seconds: made one after
/// another, five trials of each case need most of it.
const TURNS: u32 = 5;
const TURN_S: &str = "40";
/// Seconds of a run of the shipped experiment.
const SHIPPED_S: &str = "75";
/// Seconds of a run of one case twice, and of the four with handicaps.
const SAME_S: &str = "10";
const HANDICAPS_S: &str = "20";
/// Default number of runs of one case twice; half as many of handicaps.
const RUNS: u32 = 40;

/// Minimum share of a run's time in measured windows, in per cent.
const SHARE_MIN: f64 = 60.0;
/// Width of the interval relative to the former way's: the aim on a noisy machine, and the maximum
/// on any machine.
const WIDTH_AIM: f64 = 1.0 / 3.0;
const WIDTH_MAX: f64 = 1.0;
/// Minimum ratio of what a case does after a window of another to what it does after one of its
/// own; maximum half-width of the ratio's interval, beyond which it says nothing; and seconds of
/// the run.
const TURNS_MIN: f64 = 0.97;
const COST_WIDTH_MAX: f64 = 0.05;
const COST_S: &str = "120";
/// Probability that a claim about a rate fails although the rate is right.
const CHANCE: f64 = 0.05;

/// Runs everything and prints what was found; fails if a claim is not met.
pub(super) fn run(repeat: Option<u32>, limit: Duration) -> Result<()> {
    let numalab = OwnBinary::build(limit)?;
    let mut claims = Claims::default();
    in_turns(&numalab, &mut claims)?;
    share_in_windows(&numalab, &mut claims)?;
    cost_of_turns(&numalab, &mut claims)?;
    let runs = repeat.unwrap_or(RUNS);
    false_winners(&numalab, runs, &mut claims)?;
    handicaps(&numalab, runs.div_ceil(2), &mut claims)?;
    claims.conclude()
}

/// Measures only the cost of alternating.
pub(super) fn run_alternation(limit: Duration) -> Result<()> {
    let numalab = OwnBinary::build(limit)?;
    let mut claims = Claims::default();
    cost_of_turns(&numalab, &mut claims)?;
    claims.conclude()
}

/// Runs an experiment for this many seconds, with further options.
fn run_of(numalab: &OwnBinary, text: &str, within_s: &str, options: &[&str]) -> Result<Value> {
    let file = numalab.folder.join("verdict.toml");
    std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
    let file = file.display().to_string();
    let usual = ["run", "--json", "--anyway", "--within", within_s];
    numalab.json(&[&usual[..], options, &[&file]].concat())
}

/// Runs both ways in turns.
fn in_turns(numalab: &OwnBinary, claims: &mut Claims) -> Result<()> {
    let ways: [(&str, &[&str]); 2] = [
        ("one after another", &["--one-after-another"]),
        ("windows in turns", &[]),
    ];
    let mut widths = [Vec::new(), Vec::new()];
    let mut seconds = [Vec::new(), Vec::new()];
    for turn in 1..=TURNS {
        for (way, (name, options)) in ways.iter().enumerate() {
            let run = run_of(numalab, TWO, TURN_S, options)?;
            let found = Found::of(&run, "binding-and-caging")?;
            let apart_s = told_apart_s(&run, "binding-and-caging")?;
            let apart = apart_s.map_or("not told apart".to_string(), |s| {
                format!("told apart after {s:.1} s")
            });
            println!(
                "turn {turn}, {name}: {}; {apart}; {}",
                found.text(),
                quiet(&run)
            );
            widths[way].push(found.half_width());
            // Cases that are never told apart sort last.
            seconds[way].push(apart_s.unwrap_or(f64::INFINITY));
        }
    }
    let [before, now] = widths.map(middle);
    let [before_s, now_s] = seconds.map(middle);
    println!(
        "half-width of the ratio after {TURN_S} s, median of {TURNS} turns: {:.1} % one after \
         another, {:.1} % in turns; told apart after {before_s:.1} s and {now_s:.1} s \
         (inf: not at all)",
        100.0 * before,
        100.0 * now,
    );
    let found = format!(
        "{:.2} of the former half-width (aim on a noisy machine: {WIDTH_AIM:.2})",
        now / before
    );
    let claim = format!("at most {WIDTH_MAX:.2}");
    claims.add(&found, &claim, now / before <= WIDTH_MAX);
    Ok(())
}

/// Returns the middle one of values, some of which may be infinite.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Says what the hypervisor and other processes took in the windows of a run.
fn quiet(run: &Value) -> String {
    let sum = |key: &str| -> f64 {
        let cases = run["cases"].as_array().into_iter().flatten();
        let trials = cases.flat_map(|case| case["trials"].as_array().into_iter().flatten());
        trials.filter_map(|it| it["evidence"][key].as_f64()).sum()
    };
    let (steal_s, other_s) = (sum("steal_s"), sum("other_cpu_s"));
    format!("steal {steal_s:.2} s, others {other_s:.2} s of CPU time in all windows")
}

fn share_in_windows(numalab: &OwnBinary, claims: &mut Claims) -> Result<()> {
    let words = ["run", SHIPPED, "--json", "--anyway", "--within", SHIPPED_S];
    let begun = std::time::Instant::now();
    let run = numalab.json(&words)?;
    let all_s = begun.elapsed().as_secs_f64();
    let windows_s = run["time"]["windows_s"].as_f64();
    let windows_s = windows_s.context("a run says how long its windows were")?;
    let share = 100.0 * windows_s / all_s;
    let found = format!(
        "{share:.0} % of the {all_s:.0} s that `run {SHIPPED} --within {SHIPPED_S}` took lie in \
         measured windows; {}",
        quiet(&run)
    );
    let claim = format!("at least {SHARE_MIN:.0} %");
    claims.add(&found, &claim, share >= SHARE_MIN);
    Ok(())
}

/// Measures what a case loses by alternating: compares its windows after a window of another case
/// with those after one of its own. Both are of the same rounds, because a machine drifts from one
/// run to the next by more than this costs.
fn cost_of_turns(numalab: &OwnBinary, claims: &mut Claims) -> Result<()> {
    let run = run_of(numalab, SAME, COST_S, &[])?;
    let (after_other, after_own) = by_predecessor(&run, ["one", "other"])?;
    let found = ratio_of_pairs(&after_other, &after_own, CONFIDENCE).context("too few rounds")?;
    let (low, high) = (found.interval.low, found.interval.high);
    let half_width = (high - low) / 2.0 / found.ratio;
    let text = format!(
        "a case does {:.3} times ({low:.3} to {high:.3}) as much after a window of another as \
         after one of its own ({} trials)",
        found.ratio,
        after_own.len(),
    );
    let claim = format!(
        "not all of it below {TURNS_MIN:.2}, and at most {:.0} % wide to either side",
        100.0 * COST_WIDTH_MAX
    );
    let is_met = high >= TURNS_MIN && half_width <= COST_WIDTH_MAX;
    claims.add(&text, &claim, is_met);
    Ok(())
}

fn false_winners(numalab: &OwnBinary, runs: u32, claims: &mut Claims) -> Result<()> {
    let mut winners = 0;
    let mut widths = Vec::new();
    for number in 1..=runs {
        let run = run_of(numalab, SAME, SAME_S, &[])?;
        let found = Found::of(&run, "other")?;
        winners += u32::from(!found.holds(1.0));
        widths.push(found.half_width());
        println!("same case twice, {number} of {runs}: {}", found.text());
    }
    let width = 100.0 * median(&widths).unwrap_or(f64::NAN);
    let bound = upper_bound(winners, runs);
    let found = format!(
        "{winners} false winners in {runs} runs of {SAME_S} s (the rate is below {bound:.0} % \
         with 95 % confidence), half-width {width:.1} %"
    );
    let most = most_of(runs, 1.0 - CONFIDENCE);
    claims.add(&found, &format!("at most {most}"), winners <= most);
    Ok(())
}

fn handicaps(numalab: &OwnBinary, runs: u32, claims: &mut Claims) -> Result<()> {
    let mut found = [0; 3];
    let mut missed = [0; 3];
    for number in 1..=runs {
        let run = run_of(numalab, HANDICAPS, HANDICAPS_S, &[])?;
        let mut said = Vec::new();
        for (index, percent) in [3.0, 5.0, 10.0].into_iter().enumerate() {
            let Ok(of_case) = Found::of(&run, &format!("dearer-{percent}")) else {
                // There was no time for this case: no answer, but no wrong one either.
                said.push(format!("{percent} %: none"));
                continue;
            };
            found[index] += u32::from(of_case.high < 1.0);
            missed[index] += u32::from(!of_case.holds(1.0 / (1.0 + percent / 100.0)));
            said.push(format!("{percent} %: {}", of_case.text()));
        }
        println!("handicaps, {number} of {runs}: {}", said.join("; "));
    }
    let most = most_of(runs, 1.0 - CONFIDENCE);
    for (index, percent) in [3, 5, 10].into_iter().enumerate() {
        let text = format!(
            "a handicap of {percent} % was found in {} of {runs} runs of {HANDICAPS_S} s, and its \
             size was in the interval in {}",
            found[index],
            runs - missed[index],
        );
        let claim = format!("in the interval in at least {}", runs - most);
        claims.add(&text, &claim, missed[index] <= most);
    }
    Ok(())
}

/// Returns the upper 95 % bound of a rate, in per cent: at this rate, so few would occur once in
/// twenty times (Clopper and Pearson 1934, "The Use of Confidence or Fiducial Limits", *Biometrika*
/// 26).
fn upper_bound(count: u32, of: u32) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match at_most(count, of, middle) > CHANCE {
            true => low = middle,
            false => high = middle,
        }
    }
    100.0 * high
}

/// Returns how often an event with this rate may occur in this many runs before that is rarer than
/// [`CHANCE`].
fn most_of(runs: u32, rate: f64) -> u32 {
    let is_enough = |count: &u32| at_most(*count, runs, rate) >= 1.0 - CHANCE;
    (0..runs).find(is_enough).unwrap_or(runs)
}

/// Returns the probability that an event occurs at most this often in this many runs.
fn at_most(count: u32, runs: u32, rate: f64) -> f64 {
    let mut probability = (1.0 - rate).powi(runs as i32);
    let mut sum = probability;
    for index in 0..count {
        let more = f64::from(runs - index) / f64::from(index + 1);
        probability *= more * rate / (1.0 - rate);
        sum += probability;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_about_rates_fail_by_chance_once_in_twenty() {
        // Binomial tables: P(X <= 4) is 0.952 of 40 at 5 %, P(X <= 3) 0.984 of 20.
        assert_eq!(most_of(40, 0.05), 4);
        assert_eq!(most_of(20, 0.05), 3);
        assert_eq!(most_of(1, 0.05), 0);
        assert_eq!(most_of(10, 0.0), 0);
    }

    #[test]
    fn who_is_never_told_apart_comes_last() {
        assert_eq!(middle(vec![f64::INFINITY, 1.0, 2.0]), 2.0);
        assert_eq!(
            middle(vec![f64::INFINITY, 1.0, f64::INFINITY]),
            f64::INFINITY
        );
    }

    #[test]
    fn a_rate_has_a_bound() {
        // 1 - 0.05^(1/n).
        let of_none = 100.0 * (1.0 - 0.05_f64.powf(1.0 / 40.0));
        assert!(
            (upper_bound(0, 40) - of_none).abs() < 0.1,
            "{}",
            upper_bound(0, 40)
        );
        assert!(upper_bound(2, 40) > of_none);
    }
}
