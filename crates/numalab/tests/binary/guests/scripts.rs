//! Shell scripts with numalab in their PATH: what a person would type, and the kernel's own files as
//! a shell reads them.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::finished::Finished;
use crate::laboratory::{Laboratory, binary};

impl Laboratory {
    #[expect(dead_code, reason = "guest checks become tests one by one")]
    /// Runs a shell script to its end, in the folder of the laboratory and with its state.
    pub(crate) fn script(&self, text: &str) -> Finished {
        let output = Command::new("sh")
            .args(["-c", text])
            .env("PATH", path())
            .env("XDG_STATE_HOME", self.state())
            .current_dir(self.folder())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Finished {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Returns the PATH that finds the tested numalab first.
fn path() -> OsString {
    let folder = binary().parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&others))).unwrap()
}
