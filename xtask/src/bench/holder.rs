//! Processes that hold memory while a benchmark looks at it.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::harness::Harness;
use super::supervisor::Guarded;

/// Shared memory that all processes have touched. Guests use it, too.
pub(super) const PAGE_HOLDER: (&str, &str) = ("page_holder", include_str!("page_holder.c"));
/// Sparse shared memory, of which most processes have touched little.
pub(super) const MANY_PROCESSES: (&str, &str) =
    ("many_processes", include_str!("many_processes.c"));

/// The processes, until dropped.
pub(super) struct Holder {
    _guarded: Guarded,
    /// The id of the first.
    pub pid: String,
}

impl Holder {
    /// Builds and starts a program of this module, behind the words of another one; it writes its
    /// id to a file, its last word, once its processes wait.
    pub(super) fn start(
        harness: &Harness,
        before: &[&str],
        (name, text): (&str, &str),
        words: &str,
    ) -> Result<Self> {
        let ready = harness.folder.join("holder.ready");
        let mut command = Command::new("env");
        command.args(before).arg(harness.c_program(name, text)?);
        command.args(words.split(' ')).arg(&ready);
        // It may be left from an earlier run.
        let _ = std::fs::remove_file(&ready);
        let mut guarded = harness.supervisor.start_guarded(&command)?;
        loop {
            let text = std::fs::read_to_string(&ready).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n') {
                let (_guarded, pid) = (guarded, pid.to_owned());
                return Ok(Holder { _guarded, pid });
            }
            harness.supervisor.check()?;
            ensure!(!guarded.has_ended(), "the processes could not be started");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns the ids of all processes.
    pub(super) fn family(&self) -> Result<Vec<String>> {
        let pid = &self.pid;
        let path = format!("/proc/{pid}/task/{pid}/children");
        let children = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        let children = children.split_whitespace().map(str::to_owned);
        Ok(std::iter::once(pid.clone()).chain(children).collect())
    }
}
