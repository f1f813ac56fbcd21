//! A scripted sequence of everything that changes the machine is killed at random points, and one
//! `numalab undo` must leave the machine as it was. A few kills are a check; `cargo xtask kills`
//! does as many as one likes, in one guest.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::answers::Answers;
use super::check::{Check, GuestCommand, shell};
use super::complaints::Complaints;
use super::inspect::PROGRAM;
use super::move_memory::FUNCTIONS;
use super::undo_beside_move;
use crate::arguments::{CgroupVersion, KillsArguments};
use crate::guest::{self, Options, Relay, Shape};
use crate::interrupt::Interrupt;
use crate::repository;

/// Functions that say what numalab changes of a machine.
const MACHINE_STATE: &str = include_str!("machine_state.sh");

/// What is done again and again, with kills at random moments.
pub(super) struct Scenario {
    /// Its name, and that of the command which does it.
    pub name: &'static str,
    /// The machine.
    pub shape: &'static str,
    /// A script that needs the functions of moving.sh and machine_state.sh, and count.
    pub script: &'static str,
}

/// A sequence of everything that changes the machine.
const SEQUENCE: Scenario = Scenario {
    name: "kills",
    shape: "two-node",
    script: include_str!("kills.sh"),
};

/// Every scenario.
const SCENARIOS: [&Scenario; 2] = [&SEQUENCE, &undo_beside_move::SCENARIO];

/// The check.
pub const CHECK: Check = Check {
    name: SEQUENCE.name,
    applies_to: |shape| shape.name == SEQUENCE.shape,
    cgroup: CgroupVersion::V2,
    seconds: 300,
    commands: |_| SEQUENCE.commands(KILLS, 1).to_vec(),
    judge,
};

/// Kills in the check.
const KILLS: u32 = 6;
/// What one kill may take on a busy machine, and the boot with the sequence as a whole.
const SECONDS_PER_KILL: u64 = 60;
const SECONDS_TO_BEGIN: u64 = 600;

impl Scenario {
    /// The commands that do it so often, with these random numbers; the last one answers.
    pub fn commands(&self, count: u32, seed: u32) -> [GuestCommand; 2] {
        let program = format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND");
        let script = self.script;
        let script = format!("count={count}; RANDOM={seed}\n{FUNCTIONS}{MACHINE_STATE}{script}");
        let mut rounds = shell(self.name, &script);
        // The random numbers, and groups of processes of their own.
        rounds.words[0] = "bash".to_string();
        [shell("program", &program), rounds]
    }
}

/// `cargo xtask kills`: prints what came of every kill.
pub fn run(arguments: &KillsArguments) -> Result<ExitCode> {
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
        ..Options::of(guest::find(scenario.shape)?)
    };
    let commands = scenario.commands(arguments.count, arguments.seed);
    let commands = commands.map(|command| command.words);
    let outcomes = guest::run(&options, &commands, Relay::Pass, &Interrupt::watch()?)?;
    let outcome = outcomes.last().context("the script did not run")?;
    let kills = parse(&String::from_utf8_lossy(&outcome.stdout))?;
    let restored = kills.iter().filter(|kill| kill.is_as_before).count();
    println!("{restored} of {} as before", arguments.count);
    Ok(match restored == arguments.count as usize {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// One kill.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kill {
    /// How many changes undo took back.
    undone: u32,
    /// Whether the machine then was as before.
    pub is_as_before: bool,
}

/// Reads the lines of the script: `3 1804 interleave 5 as-before`; indented lines say what differs.
pub(super) fn parse(text: &str) -> Result<Vec<Kill>> {
    let lines = text.lines();
    let is_kill = |line: &&str| {
        ![" ", "window ", "met: "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    let lines = lines.filter(is_kill);
    let kill = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let [_, _, _, undone, verdict] = words[..] else {
            bail!("expected a kill, found {line:?}");
        };
        Ok(Kill {
            undone: undone.parse().with_context(|| line.to_string())?,
            is_as_before: verdict == "as-before",
        })
    };
    lines.map(kill).collect()
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let text = answers.text(SEQUENCE.name)?;
    let kills = parse(text)?;
    complaints.expect("kills", &kills.len(), &(KILLS as usize));
    let is_repaired = kills.iter().all(|kill| kill.is_as_before);
    complaints.expect(&format!("all as before: {text}"), &is_repaired, &true);
    // A kill before the first change, or after the end, would show little.
    let some = kills.iter().filter(|kill| kill.undone > 0).count() * 2 >= kills.len();
    complaints.expect(&format!("half had to be undone: {text}"), &some, &true);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_and_their_differences_passed_over() {
        let text =
            "window 900\nmet: 4 4\n1 80 create 0 as-before\n2 800 run 9 different\n    > /a\n";
        let kill = |undone, is_as_before| Kill {
            undone,
            is_as_before,
        };
        assert_eq!(parse(text).unwrap(), [kill(0, true), kill(9, false)]);
        assert!(parse("create: status 4\n").is_err());
    }
}
