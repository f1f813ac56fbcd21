//! A program beside numalab, killed when dropped.

use std::fs;
use std::process::{Child, Command, Stdio};

/// A program that runs; killed when dropped.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Starts a program whose output nobody reads.
    pub(crate) fn start(words: &[&str]) -> Self {
        Self::with_output(words, Stdio::null())
    }

    /// Starts a program whose output is read from its pipe.
    pub(crate) fn start_piped(words: &[&str]) -> Self {
        Self::with_output(words, Stdio::piped())
    }

    fn with_output(words: &[&str], stdout: Stdio) -> Self {
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(stdout);
        Self::of(&mut command)
    }

    /// Starts this command.
    pub(crate) fn of(command: &mut Command) -> Self {
        Running(command.spawn().unwrap())
    }

    /// Returns its process id, as an argument.
    pub(crate) fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Returns the CPUs that it may use.
    pub(crate) fn cpus(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let mut lines = status.lines();
        let cpus = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        cpus.unwrap().trim().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
