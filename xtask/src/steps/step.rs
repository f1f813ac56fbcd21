//! One step of the whole test, and its possible results.

use std::time::Duration;

use anyhow::Result;

use crate::program::Interrupt;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It passed.
    Passed,
    /// It failed, and why, unless that was printed already.
    Failed(String),
    /// It did not run, and why.
    Skipped(String),
}

/// One check and its result. A step may have several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checked {
    /// The name, which begins with the name of the step.
    pub name: String,
    /// The result.
    pub verdict: Verdict,
    /// How long it took, if it shares a step with others.
    pub took: Option<Duration>,
}

impl Checked {
    /// Creates a check without a known time.
    pub(super) fn new(name: String, verdict: Verdict) -> Self {
        Self {
            name,
            verdict,
            took: None,
        }
    }
}

/// What a step does.
pub(super) type Action = Box<dyn Fn(&Interrupt) -> Result<Vec<Checked>> + Sync>;

/// One step.
pub(super) struct Step {
    /// The name that `--only` takes.
    pub name: String,
    /// What it checks, in one line.
    pub summary: String,
    /// Whether it is part of `cargo xtask check`.
    pub before_each_commit: bool,
    /// Whether it takes so long that the whole test leaves it out: it runs only on request.
    pub is_long: bool,
    /// Whether it boots a guest.
    pub needs_guest: bool,
    /// Runs it.
    pub action: Action,
}

impl Step {
    /// Whether `--only` with this word selects the step: its name, or the beginning up to a colon.
    pub(super) fn is_meant_by(&self, word: &str) -> bool {
        self.name == word || self.name.starts_with(&format!("{word}:"))
    }
}
