//! Kills a scripted sequence of everything that changes the machine at random points; one `numalab
//! undo` must then leave the machine as it was. The check does a few kills; `cargo xtask kills`
//! does any number of them, in guests of 25.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::check::{Answers, Check, Complaints};
use super::scenario::{self, Scenario};
use super::{balance_kills, undo_beside_move};
use crate::arguments::{CgroupVersion, KillsArguments};
use crate::guest::{self, Options, Relay, Shape};
use crate::program::Interrupt;
use crate::repository;

/// A sequence of everything that changes the machine.
const SEQUENCE: Scenario = Scenario {
    name: "kills",
    shape: "two-node",
    script: include_str!("kills.sh"),
};

/// Every scenario.
const SCENARIOS: [&Scenario; 3] = [
    &SEQUENCE,
    &undo_beside_move::SCENARIO,
    &balance_kills::SCENARIO,
];

/// The check.
pub(crate) const CHECK: Check = Check {
    name: SEQUENCE.name,
    applies_to: |shape| shape.name == SEQUENCE.shape,
    cgroup: CgroupVersion::V2,
    seconds: 300,
    commands: |_| SEQUENCE.commands(KILLS, 1).to_vec(),
    judge,
};

/// Number of kills in the check.
const KILLS: u32 = 6;
/// Number of kills in one guest of `cargo xtask kills`: an emulator that fails costs no more.
const KILLS_OF_A_GUEST: u32 = 25;
/// Time limits on a busy machine: for one kill, and for the boot with the sequence as a whole.
const SECONDS_PER_KILL: u64 = 60;
const SECONDS_TO_BEGIN: u64 = 600;

/// Runs `cargo xtask kills`: prints the result of every kill, guest by guest.
pub(crate) fn run(arguments: &KillsArguments) -> Result<ExitCode> {
    let named = |scenario: &&&Scenario| scenario.name == arguments.only;
    let scenario = SCENARIOS.iter().find(named).with_context(|| {
        let names = SCENARIOS.map(|scenario| scenario.name).join(", ");
        format!("there is no '{}'; there are {names}", arguments.only)
    })?;
    let binary = arguments.binary.clone();
    let binary = binary.unwrap_or_else(|| repository::target().join("release/numalab"));
    let interrupt = Interrupt::watch()?;
    let (mut restored, mut done) = (0, 0);
    while done < arguments.count {
        let count = (arguments.count - done).min(KILLS_OF_A_GUEST);
        let options = Options {
            timeout: Duration::from_secs(SECONDS_TO_BEGIN + SECONDS_PER_KILL * u64::from(count)),
            binaries: vec![binary.clone()],
            kernel: arguments.kernel,
            ..Options::of(guest::find(scenario.shape)?)
        };
        // Each guest has a seed of its own.
        let commands = scenario.commands(count, arguments.seed.wrapping_add(done));
        let commands = commands.map(|command| command.words);
        let outcomes = guest::run(&options, &commands, Relay::Keep, &interrupt)?;
        let outcome = outcomes.last().context("the script did not run")?;
        let text = String::from_utf8_lossy(&outcome.stdout);
        print!("{text}");
        let kills = scenario::parse(&text)?;
        ensure!(
            kills.len() == count as usize,
            "the script ended after {} of {count} kills\n{}",
            kills.len(),
            String::from_utf8_lossy(&outcome.stderr)
        );
        restored += kills.iter().filter(|kill| kill.is_as_before).count();
        done += count;
    }
    println!("{restored} of {} as before", arguments.count);
    Ok(match restored == arguments.count as usize {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    scenario::judge_kills(answers.text(SEQUENCE.name)?, KILLS, complaints)
}
