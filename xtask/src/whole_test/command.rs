//! Runs what is meant, and summarises the results.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Result;

use super::changed::Changed;
use super::plan::{Scope, check_tables};
use super::program::{self, Test};
use super::step::STEPS;
use super::summary::{indented, summary};
use super::table::{BOOTS, Boot, LONG};
use super::verdict::{Checked, Verdict};
use super::{guests, host, repeat};
use crate::arguments::{CheckArguments, TestArguments};
use crate::program::Interrupt;
use crate::repository;

/// `cargo xtask check`.
pub(crate) fn check(arguments: &CheckArguments) -> Result<ExitCode> {
    let changed = arguments
        .changed
        .as_deref()
        .map(Changed::since)
        .transpose()?;
    if let Some(changed) = &changed {
        println!("{}", changed.line());
    }
    run(&Scope::check(changed), &Interrupt::watch()?)
}

/// `cargo xtask test`.
pub(crate) fn test(arguments: &TestArguments) -> Result<ExitCode> {
    if arguments.list {
        return list();
    }
    let scope = Scope::test(arguments)?;
    let interrupt = Interrupt::watch()?;
    if let Some(times) = arguments.repeat {
        let tests = program::build()?;
        let tests = scope.on_host(&tests);
        return repeat::run(&tests, times, arguments.beside, &interrupt);
    }
    run(&scope, &interrupt)
}

fn list() -> Result<ExitCode> {
    for step in STEPS {
        println!("{:<28} {}", step.name, step.summary);
    }
    println!("{:<28} tests on this machine", "tests");
    for boot in BOOTS {
        let name = format!("guest:{}", boot.name());
        println!("{name:<28} in a guest: {}", boot.tests.join(" "));
    }
    for one in LONG {
        println!(
            "{:<28} {} ({} s)",
            format!("long:{}", one.place),
            one.test,
            one.seconds
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn run(scope: &Scope, interrupt: &Interrupt) -> Result<ExitCode> {
    let begin = Instant::now();
    let mut results = Vec::new();
    for step in &scope.steps {
        results.push(step.run(interrupt));
        if let Some(signal) = interrupt.signal() {
            eprintln!("stopped by signal {signal}");
            return Ok(ExitCode::from(128 + signal));
        }
    }
    if scope.has_tests() {
        results.extend(run_tests(scope, interrupt)?);
    }
    if let Some(signal) = interrupt.signal() {
        eprintln!("stopped by signal {signal}");
        return Ok(ExitCode::from(128 + signal));
    }
    if std::env::var_os("CI").is_some() {
        results = results.into_iter().map(Checked::in_ci).collect();
    }
    println!("\n=== done in {:.0} s", begin.elapsed().as_secs_f64());
    scope
        .other_turns()
        .iter()
        .for_each(|line| println!("{line}"));
    print!("{}", summary(&results));
    let has_failed = results
        .iter()
        .any(|one| matches!(one.verdict, Verdict::Failed(_)));
    Ok(match has_failed {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// Builds the tests, and runs those of this machine, then those of guests: both keep all CPUs busy.
fn run_tests(scope: &Scope, interrupt: &Interrupt) -> Result<Vec<Checked>> {
    let begin = Instant::now();
    println!("\n=== build: every test, and the numalab that they run");
    let tests = match program::build() {
        Ok(tests) => tests,
        Err(error) => {
            let verdict = Verdict::Failed(format!("{error:#}"));
            return Ok(vec![Checked::new("build", verdict)]);
        }
    };
    println!("--- build took {:.1} s", begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    check_tables(&tests)?;
    let on_host = scope.on_host(&tests);
    let boots: Vec<_> = scope
        .boots
        .iter()
        .map(|boot| (*boot, scope.in_guest(boot, &tests)))
        .filter(|(_, tests)| !tests.is_empty())
        .collect();
    println!(
        "\n=== tests: {} here, {} guests",
        on_host.len(),
        boots.len()
    );
    let results = Mutex::new(Vec::new());
    let hear = |again: &str, checked: Checked| {
        show(&checked, again);
        results
            .lock()
            .expect("nothing panics with it")
            .push(checked);
    };
    let next = AtomicUsize::new(0);
    let boot_all = || {
        while let Some((boot, tests)) = boots.get(next.fetch_add(1, Ordering::Relaxed)) {
            if interrupt.signal().is_some() {
                return;
            }
            for (again, checked) in in_guest(boot, tests, interrupt) {
                hear(&again, checked);
            }
        }
    };
    host::run(&on_host, interrupt, &|test, checked| {
        hear(&test.again(), checked);
    })?;
    println!("--- tests here took {:.1} s", begin.elapsed().as_secs_f64());
    std::thread::scope(|scope| {
        for _ in 0..guests_at_once().min(boots.len()) {
            scope.spawn(boot_all);
        }
    });
    println!("--- tests took {:.1} s", begin.elapsed().as_secs_f64());
    let results = results.into_inner().expect("nothing panics with it");
    Ok(without_those_elsewhere(scope, results))
}

/// Boots a guest; returns its results, each with the command that runs it again.
fn in_guest(boot: &Boot, tests: &[&Test], interrupt: &Interrupt) -> Vec<(String, Checked)> {
    let name = format!("guest:{}", boot.name());
    let numalab = repository::target().join("debug/numalab");
    let begin = Instant::now();
    let results = guests::run(boot, tests, &numalab, &[], interrupt);
    println!("--- {name} took {:.1} s", begin.elapsed().as_secs_f64());
    match results {
        Ok(results) => results
            .into_iter()
            .zip(tests)
            .map(|(checked, test)| (guests::again(boot, &test.name), checked))
            .collect(),
        Err(error) => {
            let again = format!("cargo xtask test --only {name}");
            let checked = Checked::new(name, Verdict::Failed(format!("{error:#}")));
            vec![(again, checked)]
        }
    }
}

/// A test says here that it runs in a guest. It is left out of the results if one of these has it,
/// today or when it is its turn.
fn without_those_elsewhere(scope: &Scope, results: Vec<Checked>) -> Vec<Checked> {
    let is_elsewhere = |one: &Checked| {
        let name = one.name.strip_prefix("numalab ").unwrap_or_default();
        host::is_elsewhere(one) && scope.boots.iter().any(|boot| boot.has(name))
    };
    results
        .into_iter()
        .filter(|one| !is_elsewhere(one))
        .collect()
}

/// Prints what took long, and what did not pass with the command that runs it again.
fn show(checked: &Checked, again: &str) {
    let seconds = checked.took.unwrap_or_default().as_secs_f64();
    let name = &checked.name;
    match &checked.verdict {
        Verdict::Passed if seconds < 1.0 => {}
        Verdict::Passed => println!("passed  {seconds:>6.1} s  {name}"),
        Verdict::Failed(said) => {
            println!(
                "FAILED  {seconds:>6.1} s  {name}\n{}\n    again: {again}",
                indented(said)
            );
        }
        Verdict::Skipped(_, why) => println!("skipped           {name}: {why}"),
    }
}

/// Returns how many guests run side by side. Much of a guest's time is one CPU waiting for another,
/// so two take less than twice the time of one even on two CPUs.
fn guests_at_once() -> usize {
    /// A guest touches at most 5 GiB (of the 14 of `large-memory`, its topology touches little):
    /// room for two of them, and for the host.
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
