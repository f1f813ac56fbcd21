//! `cargo xtask capture-tree`: captures this host, or a guest by running itself in it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::{condense, format, selection};
use crate::arguments::CaptureArguments;
use crate::guest::{self, Options, Relay};
use crate::interrupt::Interrupt;

/// Runs the task.
pub fn run(arguments: &CaptureArguments) -> Result<ExitCode> {
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
    let entries = selection::collect(Path::new("/"));
    format::render(
        title,
        &entries
            .into_iter()
            .map(condense::condensed)
            .collect::<Vec<_>>(),
    )
}

fn capture_guest(shape: &str, title: Option<&str>) -> Result<String> {
    let shape = guest::find(shape)?;
    let itself = std::env::current_exe().context("cannot find the running program")?;
    let title = title.map_or_else(
        || format!("The emulated guest '{}': {}.", shape.name, shape.summary),
        str::to_string,
    );
    let options = Options {
        binaries: vec![itself],
        ..Options::of(shape)
    };
    let command = ["xtask", "capture-tree", "--out", "-", "--title", &title].map(String::from);
    let outcomes = guest::run(
        &options,
        &[command.to_vec()],
        Relay::Keep,
        &Interrupt::watch()?,
    )?;
    let outcome = outcomes.first().context("the guest ran no command")?;
    if outcome.status != 0 {
        let said = String::from_utf8_lossy(&outcome.stderr);
        bail!(
            "capturing failed in the guest with status {}: {}",
            outcome.status,
            said.trim()
        );
    }
    String::from_utf8(outcome.stdout.clone()).context("the capture is not text")
}
