//! Starts other programs; errors name the program and what it printed. SIGINT, SIGTERM and SIGHUP
//! are a flag that waiting loops check, so that they can clean up.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Returns the first file with this name in PATH or the system directories.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

/// Runs a program to its end and returns its stdout; fails with its stderr.
pub(crate) fn output(program: &str, arguments: &[&str], directory: &Path) -> Result<String> {
    output_of(Command::new(program).args(arguments).current_dir(directory))
}

/// [`output`] of a command.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let shown = words.join(" ");
    let output = command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed with {}: {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program to its end with this process's stdout and stderr. Kills it if a signal asks to
/// stop.
pub(crate) fn run(command: &mut Command, interrupt: &Interrupt) -> Result<ExitStatus> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    loop {
        let ended = child
            .try_wait()
            .with_context(|| format!("cannot wait for {name}"))?;
        if let Some(status) = ended {
            return Ok(status);
        }
        if interrupt.signal().is_some() {
            child
                .kill()
                .with_context(|| format!("cannot stop {name}"))?;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Remembers the last of SIGINT, SIGTERM and SIGHUP that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Handles the three signals for the rest of the process.
    pub(crate) fn watch() -> Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let value = usize::try_from(number).context("signal numbers are positive")?;
            signal_hook::flag::register_usize(number, Arc::clone(&signal), value)
                .with_context(|| format!("cannot watch signal {number}"))?;
        }
        Ok(Self { signal })
    }

    /// Returns the signal that arrived, if any.
    pub(crate) fn signal(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            number => u8::try_from(number).ok(),
        }
    }
}
