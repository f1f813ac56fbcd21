//! `cargo xtask bench logical-reads`: compares one session at the plateau with the same code on a
//! cache so small that memory plays no part. The difference is memory latency, because
//! instructions, latches and pins are the same. Also measures caches from 64 MiB to 8 GiB, small
//! and huge pages, one session and two, each as a ratio to the first.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::claims::Claims;
use super::experiment::{self, Rate};
use super::huge_pages::HugePages;
use super::own_binary::OwnBinary;

/// The experiment, in the format that users write.
const EXPERIMENT: &str = include_str!("logical_reads.toml");
/// Trials of each case.
const TRIALS: &str = "5";
/// Seconds of each window.
const SECONDS: &str = "1";
/// Pages of 2 MiB that the largest case needs: 8 GiB of blocks and their overhead.
const PAGES: u64 = 4400;

/// Minimum share of the time that is memory latency, in per cent: with less, placements would
/// differ less under this load than memory itself does. 87 was measured (docs/instance.md).
const SHARE_MIN: f64 = 70.0;

/// Builds the release binary, runs the experiment and prints rates and the share; fails if the
/// share is below its minimum.
pub(super) fn run(limit: Duration) -> Result<()> {
    let numalab = OwnBinary::build(limit)?;
    let pages = HugePages::require(&numalab, PAGES);
    if let Err(error) = &pages {
        println!("no cases in huge pages: {error:#}");
    }
    let run = experiment::run(&numalab, EXPERIMENT, TRIALS, SECONDS)?;
    println!("{}", summary(&run)?);
    let mut claims = Claims::default();
    judge(&run, &mut claims)?;
    claims.conclude()
}

fn judge(run: &Value, claims: &mut Claims) -> Result<()> {
    let (memory, cache) = (Rate::of(run, "memory")?, Rate::of(run, "processor-cache")?);
    let share = share(memory.median, cache.median);
    let found = format!("{share:.0} % of the time is memory latency");
    claims.add(
        &found,
        &format!("at least {SHARE_MIN:.0} %"),
        share >= SHARE_MIN,
    );
    Ok(())
}

/// Returns the share of latency: all of the time per read from memory except the time per read from
/// the processor's cache.
fn share(memory: f64, cache: f64) -> f64 {
    100.0 * (1.0 - memory / cache)
}

/// Renders the results as text.
fn summary(run: &Value) -> Result<String> {
    let memory = Rate::of(run, "memory")?;
    let cache = Rate::of(run, "processor-cache")?;
    let work_unit = &run["calibration"]["work_unit"];
    let sure = run["confidence"].as_f64();
    let sure = 100.0 * sure.context("a run says how sure its intervals are")?;
    let none = Vec::new();
    let list = |key: &str| run[key].as_array().unwrap_or(&none);
    let mut others = String::new();
    for case in list("cases") {
        let name = case["name"].as_str().context("a case has a name")?;
        let rate = Rate::of(run, name)?;
        let ratio = rate.median / memory.median;
        others.push_str(&format!(
            "\n{name:>16}: {ratio:.2} of memory; {}",
            rate.text()
        ));
    }
    for skipped in list("skipped") {
        others.push_str(&format!(
            "\nNOT RUN: {}: {}",
            skipped["case"], skipped["reason"]
        ));
    }
    Ok(format!(
        "one session, work unit {work_unit}, median of {TRIALS} windows of {SECONDS} s:\n\
         1 GiB cache: {}\n\
         1 MiB cache: {}\n\
         share of the time that is memory latency: {:.0} % ({:.0} to {:.0} %, by the ends of the \
         {sure} % intervals){others}",
        memory.text(),
        cache.text(),
        share(memory.median, cache.median),
        share(memory.high, cache.low),
        share(memory.low, cache.high),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Claims, judge, summary};

    #[test]
    fn the_share_is_that_of_the_time_per_read() {
        let case = |name: &str, median: f64| {
            let (low, high) = (median * 0.9, median * 1.1);
            json!({ "name": name, "median": median, "low": low, "high": high })
        };
        let run = |memory: f64| {
            json!({
                "calibration": { "work_unit": 64 },
                "confidence": 0.9375,
                "cases": [case("memory", memory), case("processor-cache", 80e6)],
            })
        };
        for (memory, is_met) in [(8e6, true), (24e6, true), (25e6, false), (80e6, false)] {
            let mut claims = Claims::default();
            judge(&run(memory), &mut claims).unwrap();
            assert_eq!(claims.conclude().is_ok(), is_met, "{memory}");
        }
        let text = summary(&run(8e6)).unwrap();
        assert!(
            text.contains("8.00 M logical reads/s (7.20 to 8.80), 125.0 ns each"),
            "{text}"
        );
        assert!(
            text.contains("90 % (88 to 92 %, by the ends of the 93.75 % intervals)"),
            "{text}"
        );
    }

    #[test]
    fn a_run_without_an_interval_is_no_result() {
        let run = json!({ "cases": [{ "name": "memory", "median": 8e6, "low": null }] });
        assert!(summary(&run).is_err());
    }
}
