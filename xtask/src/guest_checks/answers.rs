//! What the commands of a check answered, with errors that show the whole answer.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::check::GuestCommand;
use crate::guest::Outcome;

/// The answers of one check, by the names of its commands.
#[derive(Debug, Default)]
pub struct Answers {
    by_name: BTreeMap<&'static str, (GuestCommand, Outcome)>,
}

impl Answers {
    /// Adds the answer of a command.
    pub fn add(&mut self, command: GuestCommand, outcome: Outcome) {
        self.by_name.insert(command.name, (command, outcome));
    }

    /// What a command did, whatever its exit status.
    pub fn outcome(&self, name: &str) -> Result<&Outcome> {
        Ok(&self.find(name)?.1)
    }

    /// The stdout of a command that must have succeeded.
    pub fn text(&self, name: &str) -> Result<&str> {
        let (command, outcome) = self.find(name)?;
        if outcome.status != 0 {
            bail!("{}", described(command, outcome, "failed"));
        }
        std::str::from_utf8(&outcome.stdout)
            .with_context(|| described(command, outcome, "wrote something that is not text"))
    }

    /// The JSON document on the stdout of a command that must have succeeded.
    pub fn json(&self, name: &str) -> Result<Value> {
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
        command.words.join(" "),
        outcome.status,
        shown(&outcome.stdout),
        shown(&outcome.stderr)
    )
}

#[cfg(test)]
mod tests {
    use super::super::check::shell;
    use super::*;

    fn answers(status: u8, stdout: &str) -> Answers {
        let mut answers = Answers::default();
        let outcome = Outcome {
            status,
            stdout: stdout.into(),
            stderr: b"why".to_vec(),
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
