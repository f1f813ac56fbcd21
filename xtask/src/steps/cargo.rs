//! Steps that consist of one cargo command.

use std::process::Command;

use anyhow::Result;

use super::step::{Checked, Programs, Step, Verdict};
use crate::program::Interrupt;
use crate::{program, repository};

/// Returns a step that passes if cargo does.
pub(super) fn step(
    name: &'static str,
    summary: &'static str,
    before_each_commit: bool,
    arguments: &'static [&'static str],
) -> Step {
    let action = move |interrupt: &Interrupt| {
        let verdict = run(arguments, interrupt)?;
        Ok(vec![Checked::new(name.to_string(), verdict)])
    };
    Step {
        name: name.to_string(),
        summary: summary.to_string(),
        before_each_commit,
        is_long: false,
        needs_guest: false,
        programs: Programs::None,
        action: Box::new(action),
    }
}

/// Runs cargo at the root of the repository.
pub(super) fn run(arguments: &[&str], interrupt: &Interrupt) -> Result<Verdict> {
    println!("$ cargo {}", arguments.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(repository::root());
    // Only rustdoc reads the variable, which turns its warnings into errors.
    command.env("RUSTDOCFLAGS", "-Dwarnings");
    let status = program::run(&mut command, interrupt)?;
    Ok(if status.success() {
        Verdict::Passed
    } else {
        Verdict::Failed(format!(
            "`cargo {}` ended with {status}",
            arguments.join(" ")
        ))
    })
}
