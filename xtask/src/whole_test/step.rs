//! What is checked before the tests: formatting, lints, our own rules, documentation; and the
//! programs that tests need.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use super::packages;
use super::verdict::{Checked, Verdict};
use crate::guest::arm64;
use crate::program::Interrupt;
use crate::{program, repository, tidy};

/// One step: its name, what it checks, when, and what it does.
pub(crate) struct Step {
    /// The name that `--only` takes.
    pub name: &'static str,
    /// What it checks, in one line.
    pub summary: &'static str,
    /// When it runs.
    pub when: When,
    action: Action,
}

/// What has a step, besides `--only` with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// `cargo xtask check` and the whole test.
    EachCommit,
    /// The whole test.
    WholeTest,
    /// `--only long`: it takes longer than a turn of long tests.
    Long,
}

enum Action {
    /// Passes if cargo does, with these arguments.
    Cargo(&'static [&'static str]),
    /// Passes if it finds nothing wrong.
    Findings(fn() -> Result<usize>),
    /// Installs what tests need.
    Install(fn() -> Result<()>),
    /// Passes if it does not fail.
    Trial(fn(&Interrupt) -> Result<()>),
}

/// The step that installs the programs that tests run beside numalab.
pub(crate) const PACKAGES: &str = "packages";

/// Every step, in their order.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        summary: "sources are formatted",
        when: When::EachCommit,
        action: Action::Cargo(&["fmt", "--all", "--check"]),
    },
    Step {
        name: "tidy",
        summary: "the project's own rules",
        when: When::EachCommit,
        action: Action::Findings(tidy::command::print_findings),
    },
    Step {
        name: "clippy",
        summary: "the compiler and clippy have nothing to say",
        when: When::EachCommit,
        action: Action::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        name: "rustdoc",
        summary: "the documentation of the code has no broken links",
        when: When::WholeTest,
        action: Action::Cargo(&["doc", "--no-deps", "--workspace", "--locked"]),
    },
    Step {
        name: PACKAGES,
        summary: "programs that tests run beside numalab",
        when: When::WholeTest,
        action: Action::Install(packages::require),
    },
    Step {
        name: "arm64",
        summary: "numalab for arm64, in guests of that processor",
        when: When::Long,
        action: Action::Trial(arm64::build_and_check),
    },
];

impl Step {
    /// Runs it.
    pub(crate) fn run(&self, interrupt: &Interrupt) -> Checked {
        let begin = Instant::now();
        println!("\n=== {}: {}", self.name, self.summary);
        let verdict = self.verdict(interrupt);
        let verdict = verdict.unwrap_or_else(|error| Verdict::Failed(format!("{error:#}")));
        let took = begin.elapsed();
        println!("--- {} took {:.1} s", self.name, took.as_secs_f64());
        Checked {
            took: Some(took),
            ..Checked::new(self.name, verdict)
        }
    }

    fn verdict(&self, interrupt: &Interrupt) -> Result<Verdict> {
        Ok(match self.action {
            Action::Cargo(arguments) => cargo(arguments, interrupt)?,
            Action::Findings(look) => match look()? {
                0 => Verdict::Passed,
                count => Verdict::Failed(format!("{count} findings")),
            },
            Action::Install(install) => match install() {
                Ok(()) => Verdict::Passed,
                Err(error) => Verdict::Skipped(None, format!("{error:#}")),
            },
            Action::Trial(trial) => {
                trial(interrupt)?;
                Verdict::Passed
            }
        })
    }
}

/// Runs cargo at the root of the repository.
fn cargo(arguments: &[&str], interrupt: &Interrupt) -> Result<Verdict> {
    let words = arguments.join(" ");
    println!("$ cargo {words}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(repository::root());
    // Only rustdoc reads the variable, which turns its warnings into errors.
    command.env("RUSTDOCFLAGS", "-Dwarnings");
    let status = program::run(&mut command, interrupt)?;
    Ok(match status.success() {
        true => Verdict::Passed,
        false => Verdict::Failed(format!("`cargo {words}` ended with {status}")),
    })
}
