//! Processes that share sparse memory (`many_processes.c`).

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::supervisor::{Guarded, Supervisor};
use crate::program;

const PROGRAM: &str = include_str!("many_processes.c");

/// The processes, until dropped.
pub(super) struct Sharers {
    _guarded: Guarded,
    /// The id of the first.
    pub first: String,
}

impl Sharers {
    /// Builds the program and starts it with these words; returns when all processes wait.
    pub(super) fn start(folder: &Path, supervisor: &Supervisor, words: &[&str]) -> Result<Self> {
        let source = folder.join("many_processes.c");
        let (built, ready) = (
            source.with_extension("built"),
            source.with_extension("ready"),
        );
        std::fs::write(&source, PROGRAM).with_context(|| format!("write {}", source.display()))?;
        let files = [&built, &source].map(|path| path.display().to_string());
        program::output("cc", &["-O1", "-o", &files[0], &files[1]], folder)?;
        // It may be left from an earlier run.
        let _ = std::fs::remove_file(&ready);
        let mut command = Command::new("sh");
        let line = "ready=$1; shift; exec \"$@\" >\"$ready\"";
        command.args(["-c", line, "sh"]).arg(&ready).arg(&built);
        command.args(words).stdin(Stdio::null());
        let mut guarded = supervisor.start_guarded(&command)?;
        loop {
            let text = std::fs::read_to_string(&ready).unwrap_or_default();
            if let Some(first) = text.strip_suffix('\n') {
                let (_guarded, first) = (guarded, first.to_owned());
                return Ok(Sharers { _guarded, first });
            }
            supervisor.check()?;
            ensure!(!guarded.has_ended(), "the processes could not be started");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
