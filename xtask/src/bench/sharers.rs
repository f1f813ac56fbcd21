//! Processes that share sparse memory (`many_processes.c`).

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::c_program;
use super::supervisor::{Guarded, Supervisor};

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
        let built = c_program::build(folder, "many_processes", PROGRAM, "-O1")?;
        let ready = built.with_extension("ready");
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
