//! `cargo xtask kills`: one of the tests that kill numalab at random moments, any number of times,
//! in guests of 25 kills: an emulator that fails costs no more.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::program::{self, Test};
use super::table::{BOOTS, Boot};
use super::verdict::Verdict;
use super::{guests, summary};
use crate::arguments::KillsArguments;
use crate::program::Interrupt;
use crate::repository;

/// Number of kills in one guest.
const KILLS_OF_A_GUEST: u32 = 25;
/// The modules with one such test each.
const MODULES: [&str; 4] = [
    "kills_of_a_sequence",
    "kills_of_balance",
    "kills_of_sessions",
    "moves_beside_undos",
];

/// Runs the task: boots guests until all kills were done, and fails if one was not made up for.
pub(crate) fn run(arguments: &KillsArguments) -> Result<ExitCode> {
    let tests = program::build()?;
    let (test, boot) = find(&tests, &arguments.only)?;
    let boot = Boot {
        kernel: arguments.kernel,
        ..*boot
    };
    let numalab = arguments.binary.clone();
    let numalab = numalab.unwrap_or_else(|| repository::target().join("debug/numalab"));
    let interrupt = Interrupt::watch()?;
    let (mut done, mut failed) = (0, 0);
    while done < arguments.count && interrupt.signal().is_none() {
        let count = (arguments.count - done).min(KILLS_OF_A_GUEST);
        // Each kill has a seed of its own.
        let seed = arguments.seed.wrapping_add(done);
        let variables = [
            ("NUMALAB_KILLS_COUNT", count.to_string()),
            ("NUMALAB_KILLS_SEED", seed.to_string()),
        ];
        let results = guests::run(&boot, &[test], &numalab, &variables, &interrupt)?;
        for one in results {
            if let Verdict::Failed(said) = one.verdict {
                println!("{}", summary::indented(&said));
                failed += 1;
            }
        }
        done += count;
        println!(
            "{done} of {} kills, {failed} guests with failures",
            arguments.count
        );
    }
    Ok(match failed == 0 && done >= arguments.count {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Returns the one test of a module, and its guest.
fn find<'t>(tests: &'t [Test], module: &str) -> Result<(&'t Test, &'static Boot)> {
    if !MODULES.contains(&module) {
        bail!(
            "there are no kills '{module}'; there are {}",
            MODULES.join(", ")
        );
    }
    let start = format!("guests::{module}::");
    let named = |test: &&Test| test.program.is_of_binary() && test.name.starts_with(&start);
    let found = tests.iter().filter(named).find_map(|test| {
        let boot = BOOTS.iter().find(|boot| boot.has(&test.name))?;
        Some((test, boot))
    });
    found.with_context(|| format!("no guest runs {start}"))
}
