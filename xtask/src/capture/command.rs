//! `cargo xtask capture-tree`: runs `numalab capture` on this host or in a guest, and writes the
//! result as text.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use super::archive;
use crate::arguments::CaptureArguments;
use crate::guest::{self, Options, Relay};
use crate::program::Interrupt;
use crate::{program, repository};

/// The arguments that write an archive to stdout.
const CAPTURE: &[&str] = &["capture", "-"];

/// Runs the task.
pub(crate) fn run(arguments: &CaptureArguments) -> Result<ExitCode> {
    let title = arguments.title.as_deref();
    let text = match &arguments.shape {
        None => capture_here(title.unwrap_or("This machine."))?,
        Some(shape) => capture_guest(shape, title)?,
    };
    if arguments.out == Path::new("-") {
        std::io::stdout()
            .write_all(text.as_bytes())
            .context("cannot write to stdout")?;
    } else {
        fs::write(&arguments.out, text)
            .with_context(|| format!("cannot write {}", arguments.out.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn capture_here(title: &str) -> Result<String> {
    let output = Command::new(numalab()?)
        .args(CAPTURE)
        .output()
        .context("cannot run numalab")?;
    if !output.status.success() {
        bail!(
            "capturing failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    archive::render(title, &archive::read(&output.stdout)?)
}

fn capture_guest(shape: &str, title: Option<&str>) -> Result<String> {
    let shape = guest::find(shape)?;
    let title = title.map_or_else(
        || format!("The emulated guest '{}': {}.", shape.name, shape.summary),
        str::to_string,
    );
    let options = Options {
        binaries: vec![numalab()?],
        ..Options::of(shape)
    };
    let command = [&["numalab"], CAPTURE].concat();
    let command = command.into_iter().map(String::from).collect();
    let outcomes = guest::run(&options, &[command], Relay::Keep, &Interrupt::watch()?)?;
    let outcome = outcomes.first().context("the guest ran no command")?;
    if outcome.status != 0 {
        let said = String::from_utf8_lossy(&outcome.stderr);
        bail!(
            "capturing failed in the guest with status {}: {}",
            outcome.status,
            said.trim()
        );
    }
    archive::render(&title, &archive::read(&outcome.stdout)?)
}

/// Builds numalab; returns its path.
fn numalab() -> Result<PathBuf> {
    let build = ["build", "--locked", "--quiet", "--package", "numalab"];
    program::output("cargo", &build, &repository::root())?;
    Ok(repository::target().join("debug/numalab"))
}
