//! Kills a scripted sequence of everything that changes the machine at random points; one `numalab
//! undo` must then leave the machine as it was. The check does a few kills; `cargo xtask kills`
//! does any number of them, in one guest.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};

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
/// Time limits on a busy machine: for one kill, and for the boot with the sequence as a whole.
const SECONDS_PER_KILL: u64 = 60;
const SECONDS_TO_BEGIN: u64 = 600;

/// Runs `cargo xtask kills`: prints the result of every kill.
pub(crate) fn run(arguments: &KillsArguments) -> Result<ExitCode> {
    let named = |scenario: &&&Scenario| scenario.name == arguments.only;
    let scenario = SCENARIOS.iter().find(named).with_context(|| {
        let names = SCENARIOS.map(|scenario| scenario.name).join(", ");
        format!("there is no '{}'; there are {names}", arguments.only)
    })?;
    let binary = arguments.binary.clone();
    let binary = binary.unwrap_or_else(|| repository::target().join("release/numalab"));
    let kills = u64::from(arguments.count);
    let options = Options {
        timeout: Duration::from_secs(SECONDS_TO_BEGIN + SECONDS_PER_KILL * kills),
        binaries: vec![binary],
        kernel: arguments.kernel,
        ..Options::of(guest::find(scenario.shape)?)
    };
    let commands = scenario.commands(arguments.count, arguments.seed);
    let commands = commands.map(|command| command.words);
    let outcomes = guest::run(&options, &commands, Relay::Pass, &Interrupt::watch()?)?;
    let outcome = outcomes.last().context("the script did not run")?;
    let kills = scenario::parse(&String::from_utf8_lossy(&outcome.stdout))?;
    let restored = kills.iter().filter(|kill| kill.is_as_before).count();
    println!("{restored} of {} as before", arguments.count);
    Ok(match restored == arguments.count as usize {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    scenario::judge_kills(answers.text(SEQUENCE.name)?, KILLS, complaints)
}
