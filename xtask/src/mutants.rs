//! `cargo xtask mutants`: changes the code that decides, one place at a time, and checks that a
//! test fails. `.cargo/mutants.toml` lists the files, and the changes that are left out with the
//! reason.

use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

use crate::arguments::MutantsArguments;
use crate::program::Interrupt;
use crate::{program, repository};

/// The program that does it, a cargo subcommand from crates.io.
const PROGRAM: &str = "cargo-mutants";
/// Its exit status if a change survived (mutants.rs/exit-codes.html).
const SURVIVED: i32 = 2;
/// Its exit status if none survived, and of some the tests did not end: an endless loop is noticed.
const TIMED_OUT: i32 = 3;

/// Runs the task. Its output, with every survivor, is in `target/mutants/mutants.out`.
pub(crate) fn run(arguments: &MutantsArguments) -> Result<ExitCode> {
    if !is_installed() {
        bail!("{PROGRAM} is not installed; `cargo install --locked {PROGRAM}` installs it");
    }
    let folder = repository::target().join("mutants");
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new("cargo");
    command.current_dir(repository::root()).arg("mutants");
    command.arg("--output").arg(&folder);
    if !arguments.files.is_empty() {
        command.arg("--re").arg(beginnings(&arguments.files));
    }
    if let Some(shard) = &arguments.shard {
        command.args(["--shard", shard, "--sharding", "round-robin"]);
    }
    if arguments.list {
        command.arg("--list");
    }
    // A separate directory: the main one would be locked while a test of a mutant runs. It is kept,
    // so that the next run finds the dependencies built.
    command.env("CARGO_TARGET_DIR", folder.join("build"));
    let status = program::run(&mut command, &Interrupt::watch()?)?;
    if status.code() == Some(SURVIVED) {
        let survivors = folder.join("mutants.out/missed.txt");
        bail!(
            "changes survived every test: kill them with a test, or justify them in \
             .cargo/mutants.toml ({})",
            survivors.display()
        );
    }
    if !status.success() && status.code() != Some(TIMED_OUT) {
        bail!("cargo mutants ended with {status}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a regular expression for the names of changes, which begin with file and line. (`--file`
/// would add to the files of the configuration instead of selecting from them.)
fn beginnings(files: &[String]) -> String {
    let files: Vec<_> = files.iter().map(|file| file.replace('.', "[.]")).collect();
    format!("^({}):", files.join("|"))
}

fn is_installed() -> bool {
    program::find(PROGRAM).is_some()
        || std::env::home_dir().is_some_and(|home| home.join(".cargo/bin").join(PROGRAM).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_chosen_by_the_beginning_of_a_change() {
        let files = ["crates/a/src/b.rs", "c.rs"].map(str::to_string);
        assert_eq!(beginnings(&files), "^(crates/a/src/b[.]rs|c[.]rs):");
    }
}
