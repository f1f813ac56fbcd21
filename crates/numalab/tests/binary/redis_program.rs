//! The Redis of tests: that of Debian's redis-tools, which installs no service.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::{Need, not_run};

/// The program of redis-tools: it becomes the server when it is started as `redis-server`.
const TOOL: &str = "redis-check-rdb";

/// Makes `redis-server` in this folder; if there is none here, reports that `test` is not run.
pub(crate) fn link_to_server(folder: &Path, test: &str) -> Option<PathBuf> {
    let mut command = Command::new("sh");
    let found = command.args(["-c", &format!("command -v {TOOL}")]).output();
    let found = String::from_utf8(found.unwrap().stdout).unwrap();
    if found.trim().is_empty() {
        let why = format!("there is no {TOOL} (Debian: redis-tools)");
        not_run(test, Need::Package, &why);
        return None;
    }
    let link = folder.join("redis-server");
    symlink(found.trim(), &link).unwrap();
    Some(link)
}
