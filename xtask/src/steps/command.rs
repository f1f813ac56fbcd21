//! Runs steps one after the other and sums them up.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};

use super::report;
use super::step::{Checked, Step, Verdict};
use super::table;
use crate::arguments::TestArguments;
use crate::interrupt::Interrupt;

/// `cargo xtask check`.
pub fn check() -> Result<ExitCode> {
    let steps: Vec<_> = table::steps()
        .into_iter()
        .filter(|step| step.before_each_commit)
        .collect();
    run(&steps, |_| None)
}

/// `cargo xtask test`.
pub fn test(arguments: &TestArguments) -> Result<ExitCode> {
    let mut steps = table::steps();
    if arguments.list {
        for step in &steps {
            println!("{:<24} {}", step.name, step.summary);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(word) = &arguments.only {
        let names: Vec<_> = steps.iter().map(|step| step.name.clone()).collect();
        steps.retain(|step| step.is_meant_by(word));
        if steps.is_empty() {
            bail!(
                "there is no step '{word}'; the steps are {}",
                names.join(", ")
            );
        }
    }
    let no_guest = arguments.no_guest;
    let is_whole = arguments.only.is_none();
    run(&steps, |step| match step {
        _ if no_guest && step.needs_guest => Some("--no-guest was given"),
        _ if is_whole && step.is_long => Some("it takes long: `cargo xtask test --only long`"),
        _ => None,
    })
}

fn run(steps: &[Step], reason_to_skip: impl Fn(&Step) -> Option<&str>) -> Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    let begin = Instant::now();
    let mut results = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!(
            "\n=== {} ({} of {}): {}",
            step.name,
            index + 1,
            steps.len(),
            step.summary
        );
        let reason = reason_to_skip(step);
        let skipped = |reason: &str| {
            vec![Checked {
                name: step.name.clone(),
                verdict: Verdict::Skipped(reason.into()),
            }]
        };
        let of_step = reason.map_or_else(|| run_step(step, &interrupt), skipped);
        if let Some(signal) = interrupt.signal() {
            eprintln!("stopped by signal {signal} in step {}", step.name);
            return Ok(ExitCode::from(128 + signal));
        }
        results.extend(of_step);
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

fn run_step(step: &Step, interrupt: &Interrupt) -> Vec<Checked> {
    let begin = Instant::now();
    let results = (step.action)(interrupt).unwrap_or_else(|error| {
        vec![Checked {
            name: step.name.clone(),
            verdict: Verdict::Failed(format!("{error:#}")),
        }]
    });
    for result in &results {
        match &result.verdict {
            Verdict::Passed => println!("passed: {}", result.name),
            Verdict::Failed(reason) => println!("FAILED: {}: {reason}", result.name),
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
