//! One guest check: where it applies, what it runs, the answers (errors show the whole answer), how
//! it judges them, and its complaints, collected so that one run shows all of them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::arguments::CgroupVersion;
use crate::guest::{Outcome, Shape};

/// One check.
pub(crate) struct Check {
    /// The name in reports.
    pub name: &'static str,
    /// The shapes that it runs on.
    pub applies_to: fn(&Shape) -> bool,
    /// The cgroup version of the guest; checks of one shape and version share a boot.
    pub cgroup: CgroupVersion,
    /// The time that its commands may take beyond the boot, in seconds.
    pub seconds: u64,
    /// What runs in the guest, in this order.
    pub commands: fn(&Shape) -> Vec<GuestCommand>,
    /// Complains about the answers.
    pub judge: fn(&Shape, &Answers, &mut Complaints) -> Result<()>,
}

/// One command of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuestCommand {
    /// The name by which the check asks for its answer.
    pub name: &'static str,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// What it needs besides numalab.
    pub needs: Option<Need>,
}

/// What a command needs besides numalab and what every guest has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// PostgreSQL, installed on the host.
    Postgresql,
    /// The tests of the binary, as a program ([`crate::guest::TESTS`]).
    Tests,
}

/// Returns a command that runs numalab with these arguments.
pub(super) fn numalab(name: &'static str, arguments: &[&str]) -> GuestCommand {
    let words = std::iter::once("numalab").chain(arguments.iter().copied());
    GuestCommand {
        name,
        words: words.map(str::to_string).collect(),
        needs: None,
    }
}

/// Returns a command that runs a shell script.
pub(super) fn shell(name: &'static str, script: &str) -> GuestCommand {
    GuestCommand {
        name,
        words: ["sh", "-c", script].map(str::to_string).to_vec(),
        needs: None,
    }
}

/// Returns a command that runs a shell script with the functions of `postgresql.sh`.
pub(super) fn with_postgresql(name: &'static str, script: &str) -> GuestCommand {
    let functions = include_str!("postgresql.sh");
    GuestCommand {
        needs: Some(Need::Postgresql),
        ..shell(name, &format!("{functions}\n{script}"))
    }
}

/// The answers of one check, by the names of its commands.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    by_name: BTreeMap<&'static str, (GuestCommand, Outcome)>,
}

impl Answers {
    /// Adds the answer of a command.
    pub(crate) fn add(&mut self, command: GuestCommand, outcome: Outcome) {
        self.by_name.insert(command.name, (command, outcome));
    }

    /// Returns how long all its commands took, and in brackets the slow ones: `98.1 s (run 61.0 s,
    /// held 31.5 s)`.
    pub(crate) fn took(&self) -> String {
        /// What is slow.
        const SLOW: Duration = Duration::from_secs(10);
        let took = self.by_name.iter().map(|(name, (_, it))| (it.took, *name));
        let whole: Duration = took.clone().map(|(took, _)| took).sum();
        let mut slow: Vec<_> = took.filter(|(took, _)| *took >= SLOW).collect();
        slow.sort_by(|one, other| other.cmp(one));
        let slow = slow.into_iter();
        let slow = slow.map(|(took, name)| format!("{name} {:.1} s", took.as_secs_f64()));
        let slow: Vec<_> = slow.collect();
        let brackets = match slow.is_empty() {
            true => String::new(),
            false => format!(" ({})", slow.join(", ")),
        };
        format!("{:.1} s{brackets}", whole.as_secs_f64())
    }

    /// Returns the outcome of a command, whatever its exit status.
    pub(crate) fn outcome(&self, name: &str) -> Result<&Outcome> {
        Ok(&self.find(name)?.1)
    }

    /// Returns the stdout of a command that must have succeeded.
    pub(crate) fn text(&self, name: &str) -> Result<&str> {
        let (command, outcome) = self.find(name)?;
        if outcome.status != 0 {
            bail!("{}", described(command, outcome, "failed"));
        }
        std::str::from_utf8(&outcome.stdout)
            .with_context(|| described(command, outcome, "wrote something that is not text"))
    }

    /// Returns the JSON document on the stdout of a command that must have succeeded.
    pub(crate) fn json(&self, name: &str) -> Result<Value> {
        let text = self.text(name)?;
        let (command, outcome) = self.find(name)?;
        serde_json::from_str(text)
            .with_context(|| described(command, outcome, "wrote something that is not JSON"))
    }

    fn find(&self, name: &str) -> Result<&(GuestCommand, Outcome)> {
        self.by_name
            .get(name)
            .with_context(|| format!("the check has no command '{name}'"))
    }
}

fn described(command: &GuestCommand, outcome: &Outcome, what: &str) -> String {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
    format!(
        "`{}` {what} (status {})\nstdout: {}\nstderr: {}",
        shortened(command),
        outcome.status,
        shown(&outcome.stdout),
        shown(&outcome.stderr)
    )
}

/// A command in one line: of a script of several, only its name is of use to who reads the result.
fn shortened(command: &GuestCommand) -> String {
    let words = command.words.join(" ");
    match words.split_once('\n') {
        None => words,
        Some(_) => format!("{} SCRIPT of '{}'", command.words[0], command.name),
    }
}

/// The complaints of one check.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    list: Vec<String>,
}

impl Complaints {
    /// Complains unless both are equal.
    pub(crate) fn expect<T: PartialEq + Debug>(&mut self, what: &str, found: &T, expected: &T) {
        if found != expected {
            self.add(format!("{what}: found {found:?}, expected {expected:?}"));
        }
    }

    /// Complains about every line that is not the one expected in its place.
    pub(crate) fn expect_lines(&mut self, what: &str, found: &str, expected: &str) {
        let (mut found, mut expected) = (found.lines(), expected.lines());
        loop {
            match (found.next(), expected.next()) {
                (None, None) => return,
                (found, expected) => self.expect(what, &found, &expected),
            }
        }
    }

    /// Adds a complaint.
    pub(crate) fn add(&mut self, complaint: String) {
        self.list.push(complaint);
    }

    /// Returns all complaints, in order.
    pub(crate) fn into_list(self) -> Vec<String> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(status: u8, stdout: &str) -> Answers {
        let mut answers = Answers::default();
        let outcome = Outcome {
            status,
            stdout: stdout.into(),
            stderr: b"why".to_vec(),
            took: Duration::from_secs(2),
        };
        answers.add(shell("it", "true"), outcome);
        answers
    }

    #[test]
    fn a_failed_command_shows_what_it_said() {
        let error = answers(3, "out").text("it").unwrap_err().to_string();
        assert_eq!(
            error,
            "`sh -c true` failed (status 3)\nstdout: out\nstderr: why"
        );
    }

    #[test]
    fn a_failed_script_is_named_and_not_repeated() {
        let mut answers = Answers::default();
        let outcome = Outcome {
            status: 1,
            stdout: Vec::new(),
            stderr: b"why".to_vec(),
            took: Duration::from_secs(2),
        };
        answers.add(shell("it", "true\nfalse"), outcome);
        assert_eq!(
            answers.text("it").unwrap_err().to_string(),
            "`sh SCRIPT of 'it'` failed (status 1)\nstdout: \nstderr: why"
        );
    }

    #[test]
    fn slow_commands_are_named_slowest_first() {
        let mut all = Answers::default();
        for (name, seconds) in [("quick", 9), ("slow", 10), ("slower", 31)] {
            let outcome = Outcome {
                status: 0,
                stdout: Vec::new(),
                stderr: Vec::new(),
                took: Duration::from_secs(seconds),
            };
            all.add(shell(name, "true"), outcome);
        }
        assert_eq!(all.took(), "50.0 s (slower 31.0 s, slow 10.0 s)");
        assert_eq!(answers(0, "").took(), "2.0 s");
    }

    #[test]
    fn json_is_read_from_stdout() {
        assert_eq!(answers(0, "{\"a\": 1}").json("it").unwrap()["a"], 1);
        assert!(
            answers(0, "{")
                .json("it")
                .unwrap_err()
                .to_string()
                .contains("not JSON")
        );
    }
}
