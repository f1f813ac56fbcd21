//! `cargo xtask package`: makes what is handed on, in target/package.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::machine::Machine;
use super::{archive, debian, program, tree, trial};
use crate::arguments::PackageArguments;
use crate::guest::{arm64, packages};
use crate::program::Interrupt;
use crate::{program as programs, repository};

/// Makes program, archive and Debian package; tries them if that is asked for.
pub(crate) fn run(arguments: &PackageArguments) -> Result<ExitCode> {
    let machine = arguments.architecture;
    let folder = machine.folder();
    let packaged = program::build(machine)?;
    program::check(machine)?;
    let made_at = time_of_commit()?;
    let tree = tree::make(&packaged, &folder)?;
    let archive = archive::write(&tree, &folder, machine.kernel(), made_at)?;
    say(&archive)?;
    let package = debian::build(&tree, machine, debian::REVISION, made_at)?;
    say(&package)?;
    if arguments.trial {
        packages::require_program("lintian", "lintian")?;
        trial::lint(&package)?;
    }
    if arguments.trial && machine == Machine::Arm64 {
        arm64::check_all(&packaged, &Interrupt::watch()?)?;
    } else if arguments.trial {
        let next = debian::build(&tree, machine, debian::NEXT_REVISION, made_at)?;
        trial::run(&trial::Made {
            archive: &archive,
            package: &package,
            next: &next,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn say(path: &Path) -> Result<()> {
    println!("{}: {} bytes", path.display(), program::size(path)?);
    Ok(())
}

/// The time of what is packed, in seconds since 1970: that of the commit, so that the same sources
/// make the same files.
fn time_of_commit() -> Result<u64> {
    let words = ["log", "-1", "--format=%ct"];
    let text = programs::output("git", &words, &repository::root())?;
    let text = text.trim();
    text.parse()
        .with_context(|| format!("git says '{text}' instead of a time"))
}
