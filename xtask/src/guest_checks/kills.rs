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
use crate::arguments::{CgroupVersion, KillsArguments};
use crate::guest::{self, Options, Relay, Shape};
use crate::interrupt::Interrupt;
use crate::repository;

/// The check.
pub const CHECK: Check = Check {
    name: "kills",
    applies_to: |shape| shape.name == SHAPE,
    cgroup: CgroupVersion::V2,
    seconds: 300,
    commands: |_| commands(KILLS, 1).to_vec(),
    judge,
};

const SHAPE: &str = "two-node";
const SCRIPT: &str = include_str!("kills.sh");
/// Kills in the check.
const KILLS: u32 = 6;
/// The name of the command that kills.
const NAME: &str = "kills";
/// What one kill may take on a busy machine, and the boot with the sequence as a whole.
const SECONDS_PER_KILL: u64 = 60;
const SECONDS_TO_BEGIN: u64 = 600;

fn commands(count: u32, seed: u32) -> [GuestCommand; 2] {
    let program = format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND");
    let script = format!("count={count}; RANDOM={seed}\n{FUNCTIONS}{SCRIPT}");
    let mut kills = shell(NAME, &script);
    // The random numbers, and groups of processes of their own.
    kills.words[0] = "bash".to_string();
    [shell("program", &program), kills]
}

/// `cargo xtask kills`: prints what came of every kill.
pub fn run(arguments: &KillsArguments) -> Result<ExitCode> {
    let binary = repository::target().join("release/numalab");
    let kills = u64::from(arguments.count);
    let options = Options {
        timeout: Duration::from_secs(SECONDS_TO_BEGIN + SECONDS_PER_KILL * kills),
        binaries: vec![binary],
        ..Options::of(guest::find(SHAPE)?)
    };
    let commands = commands(arguments.count, arguments.seed).map(|command| command.words);
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
struct Kill {
    /// How many changes undo took back.
    undone: u32,
    /// Whether the machine then was as before.
    is_as_before: bool,
}

/// Reads the lines of the script: `3 1804 interleave 5 as-before`; indented lines say what differs.
fn parse(text: &str) -> Result<Vec<Kill>> {
    let lines = text.lines();
    let lines = lines.filter(|line| !line.starts_with(' ') && !line.starts_with("window "));
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
    let text = answers.text(NAME)?;
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
        let text = "window 900\n1 80 create 0 as-before\n2 800 run 9 different\n    > /numalab\n";
        let kill = |undone, is_as_before| Kill {
            undone,
            is_as_before,
        };
        assert_eq!(parse(text).unwrap(), [kill(0, true), kill(9, false)]);
        assert!(parse("create: status 4\n").is_err());
    }
}
