//! `cargo xtask guest`: runs one command in one guest, or lists the shapes.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::architecture::Architecture;
use super::machine::Stopped;
use super::parts::fetch;
use super::{Options, Relay, SHAPES, postgresql, run as run_guest};
use crate::arguments::{GuestArguments, GuestKernel};
use crate::program::Interrupt;
use crate::repository;

/// The exit status if the guest was killed at its timeout, as with timeout(1).
const TIMED_OUT: u8 = 124;
/// The exit status if the guest itself failed and the command has none.
const GUEST_FAILED: u8 = 125;

/// Fetches what guests with the usual kernel need, before several processes boot one at once.
pub(crate) fn prepare() -> Result<()> {
    fetch(GuestKernel::Stable).map(drop)
}

/// Runs the task.
pub(crate) fn run(arguments: &GuestArguments) -> Result<ExitCode> {
    if arguments.list {
        for shape in SHAPES {
            println!("{:<18} {} ({})", shape.name, shape.summary, shape.origin);
        }
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(run_command(arguments).unwrap_or_else(
        |error| {
            eprintln!("error: {error:#}");
            match error.downcast_ref() {
                Some(Stopped::Timeout { .. }) => TIMED_OUT,
                Some(Stopped::Interrupted(signal)) => 128 + signal,
                Some(Stopped::Emulator { .. } | Stopped::Late { .. }) | None => GUEST_FAILED,
            }
        },
    )))
}

fn run_command(arguments: &GuestArguments) -> Result<u8> {
    let shape = arguments.shape.as_deref().context("--shape is missing")?;
    let mut options = Options::from_arguments(shape, &arguments.boot)?;
    match numalab(arguments.boot.binary.clone(), arguments.boot.kernel)? {
        Some(binary) => options.binaries.push(binary),
        None if arguments
            .command
            .first()
            .is_some_and(|program| program == "numalab") =>
        {
            bail!(
                "numalab is not built, so the guest has none; `cargo build --release --package \
             numalab` builds it, --binary names another"
            )
        }
        None => {}
    }
    if arguments.postgresql {
        postgresql::require()?;
    }
    let commands = std::slice::from_ref(&arguments.command);
    let outcomes = run_guest(&options, commands, Relay::Pass, &Interrupt::watch()?)?;
    let outcome = outcomes.first().context("the guest ran no command")?;
    Ok(outcome.status)
}

/// Returns the numalab binary: the requested one, else the release build, else the debug build.
fn numalab(asked: Option<PathBuf>, kernel: GuestKernel) -> Result<Option<PathBuf>> {
    if let Some(path) = asked {
        if !path.is_file() {
            bail!("--binary {}: there is no such file", path.display());
        }
        return Ok(Some(path));
    }
    Ok(Architecture::of(kernel).numalab(&repository::target()))
}
