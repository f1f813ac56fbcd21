//! Shell scripts with numalab in their PATH: what a person would type, and the kernel's own files
//! as a shell reads them.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::finished::Finished;
use crate::laboratory::{Laboratory, binary};

/// Boots systemd and runs `check.sh` of the laboratory's folder as one of its services.
pub(crate) const BOOT_SYSTEMD: &str = include_str!("systemd.sh");

impl Laboratory {
    /// Runs a shell script to its end, in the folder of the laboratory and with its state.
    pub(crate) fn script(&self, text: &str) -> Finished {
        Finished::of(self.shell(text).output().unwrap())
    }

    /// Returns the command that runs a shell script, not started yet.
    pub(crate) fn shell(&self, text: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", text])
            .env("PATH", path())
            .env("XDG_STATE_HOME", self.state())
            .current_dir(self.folder())
            .stdin(Stdio::null());
        command
    }
}

/// Returns the PATH that finds the tested numalab first.
fn path() -> OsString {
    let folder = binary().parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&others))).unwrap()
}
