//! A numalab that has ended: its exit code and its output.

use std::process::{ExitStatus, Output};

use serde_json::Value;

/// Returns the trials of a case that count. On a busy machine, some may not: in a short window a
/// session may get no CPU.
#[track_caller]
pub(crate) fn valid_trials(case: &Value) -> Vec<&Value> {
    let trials = case["trials"].as_array();
    let trials = trials
        .unwrap_or_else(|| panic!("no trials: {case:#}"))
        .iter();
    trials.filter(|trial| trial["valid"] == true).collect()
}

/// The exit status and output of a numalab that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Takes the output of a program that has ended.
    pub(crate) fn of(output: Output) -> Self {
        Finished {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts that it ended with this exit code.
    #[track_caller]
    pub(crate) fn with_code(self, code: i32) -> Self {
        let Finished {
            status,
            stdout,
            stderr,
        } = &self;
        assert_eq!(
            status.code(),
            Some(code),
            "{status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        );
        self
    }

    /// Returns the JSON document on stdout.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// Asserts that stderr contains all of `texts`, in this order.
    #[track_caller]
    pub(crate) fn says(&self, texts: &[&str]) {
        let mut rest = self.stderr.as_str();
        for text in texts {
            let at = rest.find(text);
            let at = at.unwrap_or_else(|| panic!("no {text:?} (in order) in:\n{}", self.stderr));
            rest = &rest[at + text.len()..];
        }
    }
}
