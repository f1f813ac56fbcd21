//! Runs steps and summarises their results.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::step::{self, Checked, Step, Verdict};
use super::{report, table};
use crate::arguments::TestArguments;
use crate::program::Interrupt;

/// The whole test begins no guest after this time. It takes about half an hour; continuous
/// integration gives up after 90 minutes, and a result of most guests is worth more than none.
const NO_GUEST_AFTER: Duration = Duration::from_secs(50 * 60);

/// `cargo xtask check`.
pub(crate) fn check() -> Result<ExitCode> {
    let steps: Vec<_> = table::steps()
        .into_iter()
        .filter(|step| step.before_each_commit)
        .collect();
    run(&steps, |_| None)
}

/// `cargo xtask test`.
pub(crate) fn test(arguments: &TestArguments) -> Result<ExitCode> {
    let mut steps = table::steps();
    if arguments.list {
        for step in &steps {
            println!("{:<24} {}", step.name, step.summary);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(word) = &arguments.only {
        let names: Vec<_> = steps.iter().map(|step| step.name.clone()).collect();
        step::select(&mut steps, word);
        if steps.is_empty() {
            bail!(
                "there is no step '{word}'; the steps are {}",
                names.join(", ")
            );
        }
    }
    let begin = Instant::now();
    run(&steps, |step| {
        reason_to_skip(step, arguments, begin.elapsed())
    })
}

/// Why a step is left out of a test that has taken this long.
fn reason_to_skip(
    step: &Step,
    arguments: &TestArguments,
    elapsed: Duration,
) -> Option<&'static str> {
    let is_whole = arguments.only.is_none();
    match step {
        _ if arguments.no_guest && step.needs_guest => Some("--no-guest was given"),
        _ if is_whole && step.is_long => Some("it takes long: `cargo xtask test --only long`"),
        _ if is_whole && step.needs_guest && elapsed > NO_GUEST_AFTER => Some(
            "NOT RUN, the machine is slow: the test had taken more than 50 minutes; \
             `cargo xtask test --only` with this name runs it",
        ),
        _ => None,
    }
}

fn run(
    steps: &[Step],
    reason_to_skip: impl Fn(&Step) -> Option<&'static str> + Sync,
) -> Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    let begin = Instant::now();
    let guests_at_once = guests_at_once();
    let mut results = Vec::new();
    // Consecutive steps with guests run side by side, everything else alone.
    for group in steps.chunk_by(|one, next| one.needs_guest && next.needs_guest) {
        let at_once = if group[0].needs_guest {
            guests_at_once
        } else {
            1
        };
        results.extend(run_group(group, at_once, &reason_to_skip, &interrupt));
        if let Some(signal) = interrupt.signal() {
            eprintln!("stopped by signal {signal}");
            return Ok(ExitCode::from(128 + signal));
        }
    }
    println!("\n=== done in {:.0} s", begin.elapsed().as_secs_f64());
    print!("{}", report::summary(&results));
    let has_failed = results
        .iter()
        .any(|one| matches!(one.verdict, Verdict::Failed(_)));
    Ok(if has_failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Returns how many guests run side by side. Much of a guest's time is one CPU waiting for another,
/// so two take less than twice the time of one even on two CPUs.
fn guests_at_once() -> usize {
    /// A guest of the whole test touches at most 5 GiB (of the 14 of `large-memory`, its topology
    /// touches little): room for two of them, and for the host.
    const KIB_FOR_TWO: u64 = 14 << 20;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
    match kib {
        Some(kib) if kib >= KIB_FOR_TWO => 2,
        _ => 1,
    }
}

/// Runs steps in their order, `at_once` of them side by side; returns the results in the same
/// order.
fn run_group(
    steps: &[Step],
    at_once: usize,
    reason_to_skip: &(impl Fn(&Step) -> Option<&'static str> + Sync),
    interrupt: &Interrupt,
) -> Vec<Checked> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![Vec::new(); steps.len()]);
    let work = || {
        while let Some(step) = steps.get(next.fetch_add(1, Ordering::Relaxed)) {
            if interrupt.signal().is_some() {
                return;
            }
            let of_step = reason_to_skip(step).map_or_else(
                || run_step(step, interrupt),
                |reason| vec![skipped(step, reason)],
            );
            let index = steps.element_offset(step).expect("it is one of them");
            results.lock().expect("no step panics with it")[index] = of_step;
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..at_once.min(steps.len()) {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().expect("no step panics with it");
    results.into_iter().flatten().collect()
}

fn skipped(step: &Step, reason: &str) -> Checked {
    Checked::new(step.name.clone(), Verdict::Skipped(reason.into()))
}

fn run_step(step: &Step, interrupt: &Interrupt) -> Vec<Checked> {
    let begin = Instant::now();
    println!("\n=== {}: {}", step.name, step.summary);
    let results = (step.action)(interrupt).unwrap_or_else(|error| {
        let verdict = Verdict::Failed(format!("{error:#}"));
        vec![Checked::new(step.name.clone(), verdict)]
    });
    for result in &results {
        match &result.verdict {
            Verdict::Passed => println!("passed: {}{}", result.name, took(result)),
            Verdict::Failed(reason) => {
                println!("FAILED: {}{}: {reason}", result.name, took(result));
            }
            Verdict::Skipped(reason) => println!("SKIPPED: {}: {reason}", result.name),
        }
    }
    println!(
        "--- {} took {:.1} s",
        step.name,
        begin.elapsed().as_secs_f64()
    );
    results
}

/// Returns how long a check took, if that is known.
fn took(result: &Checked) -> String {
    let took = result.took.as_ref();
    took.map(|took| format!(", {took}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_whole_test_begins_no_more_guests_and_says_so() {
        let steps = table::steps();
        let reason = |name: &str, only: Option<&str>, minutes: u64| {
            let arguments = TestArguments {
                no_guest: false,
                only: only.map(str::to_owned),
                list: false,
            };
            let step = steps.iter().find(|step| step.name == name).unwrap();
            reason_to_skip(step, &arguments, Duration::from_secs(minutes * 60 + 1))
        };
        let late = reason("guest:sparse", None, 50).unwrap();
        assert!(late.starts_with("NOT RUN, the machine is slow"), "{late}");
        assert_eq!(reason("guest:sparse", None, 49), None);
        assert_eq!(reason("guest:sparse", Some("guest"), 50), None);
        assert_eq!(reason("unit", None, 50), None);
        let long = reason("long:two-node", None, 0).unwrap();
        assert!(long.starts_with("it takes long"), "{long}");
    }
}
