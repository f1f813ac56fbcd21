//! One step of the whole test, and its possible results.

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
    /// How long it took, in words, if it shares a step with others.
    pub took: Option<String>,
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

/// How a step stands to the programs that tests run beside numalab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Programs {
    /// It needs none.
    None,
    /// It runs them.
    Needs,
    /// It installs them, before a step that needs them.
    Installs,
}

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
    /// How it stands to the programs that tests run beside numalab.
    pub programs: Programs,
    /// Runs it.
    pub action: Action,
}

impl Step {
    /// Whether `--only` with this word selects the step: its name, or the beginning up to a colon.
    pub(super) fn is_meant_by(&self, word: &str) -> bool {
        self.name == word || self.name.starts_with(&format!("{word}:"))
    }
}

/// Leaves the steps that `--only` with this word selects, and what installs the programs that they
/// need.
pub(super) fn select(steps: &mut Vec<Step>, word: &str) {
    let is_needed = |step: &Step| step.is_meant_by(word) && step.programs == Programs::Needs;
    let installs = steps.iter().any(is_needed);
    steps
        .retain(|step| step.is_meant_by(word) || (installs && step.programs == Programs::Installs));
}

#[cfg(test)]
mod tests {
    use super::{Programs, Step, select};

    fn step(name: &str, programs: Programs) -> Step {
        Step {
            name: name.to_owned(),
            summary: String::new(),
            before_each_commit: false,
            is_long: false,
            needs_guest: false,
            programs,
            action: Box::new(|_| Ok(Vec::new())),
        }
    }

    #[test]
    fn what_installs_programs_runs_before_the_steps_that_need_them() {
        let selected = |word: &str| {
            let mut steps = vec![
                step("fmt", Programs::None),
                step("programs", Programs::Installs),
                step("unit", Programs::Needs),
                step("long:one-node", Programs::Needs),
            ];
            select(&mut steps, word);
            let names = steps.into_iter().map(|step| step.name);
            names.collect::<Vec<_>>()
        };
        assert_eq!(selected("fmt"), ["fmt"]);
        assert_eq!(selected("long"), ["programs", "long:one-node"]);
        assert_eq!(selected("programs"), ["programs"]);
        assert_eq!(selected("nothing"), [""; 0]);
    }
}
