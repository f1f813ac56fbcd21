//! systemd as the manager of the cgroup tree, controlled through its own programs: only systemd
//! changes what it owns (systemd, "Control Group APIs and Delegation").

use std::path::Path;
use std::process::Command;

use crate::Root;

/// A systemd program failed or could not be run.
#[derive(Debug, thiserror::Error)]
#[error("{command}: {answer}")]
pub struct SystemdError {
    /// What was run.
    pub command: String,
    /// What it said.
    pub answer: String,
}

impl SystemdError {
    /// Whether systemd refused for lack of permission (polkit, or no bus for this user).
    pub fn is_permission(&self) -> bool {
        [
            "ccess denied",
            "ermission denied",
            "uthentication",
            "not permitted",
        ]
        .iter()
        .any(|words| self.answer.contains(words))
    }
}

/// Whether systemd runs this machine (sd_booted(3)).
pub fn is_booted(root: &Root) -> bool {
    root.require("run/systemd/system").is_ok()
}

/// The parent slice of all processor groups.
pub const SLICE_OF_GROUPS: &str = "numalab.slice";

/// The slice for the group `name`: `numalab-db.slice`. A dash would create a nested slice, so it is
/// escaped as systemd-escape(1) does.
pub fn slice_of(name: &str) -> String {
    format!("numalab-{}.slice", name.replace('-', "\\x2d"))
}

/// Sets properties of a unit until the machine reboots.
///
/// # Errors
/// When systemd refuses.
pub fn set_properties(unit: &str, properties: &[String]) -> Result<(), SystemdError> {
    let fixed = ["set-property", "--runtime", "--", unit];
    let words = fixed
        .into_iter()
        .chain(properties.iter().map(String::as_str));
    systemctl(&words.collect::<Vec<_>>()).map(drop)
}

/// Starts a unit.
///
/// # Errors
/// When systemd refuses.
pub fn start(unit: &str) -> Result<(), SystemdError> {
    systemctl(&["start", "--", unit]).map(drop)
}

/// Stops a slice and resets all its properties. If its directory `cgroup` was the last in the
/// parent slice, stops that, too: systemd created it implicitly and would keep it. Succeeds if the
/// slice does not exist.
///
/// # Errors
/// When systemd refuses.
pub fn remove_slice(unit: &str, cgroup: Option<&Path>) -> Result<(), SystemdError> {
    systemctl(&["stop", "--", unit])?;
    systemctl(&["revert", "--", unit])?;
    let above = cgroup.and_then(Path::parent);
    let Some(above) = above.filter(|above| above.ends_with(SLICE_OF_GROUPS)) else {
        return Ok(());
    };
    let entries = std::fs::read_dir(above).into_iter().flatten().flatten();
    match entries.into_iter().any(|entry| entry.path().is_dir()) {
        true => Ok(()),
        false => systemctl(&["stop", "--", SLICE_OF_GROUPS]).map(drop),
    }
}

/// The cgroup of a unit, relative to the hierarchy: `/numalab.slice/numalab-db.slice`.
///
/// # Errors
/// When systemd refuses.
pub fn control_group(unit: &str) -> Result<String, SystemdError> {
    let words = ["show", "--property=ControlGroup", "--value", "--", unit];
    Ok(systemctl(&words)?.trim().to_owned())
}

fn systemctl(words: &[&str]) -> Result<String, SystemdError> {
    let failed = |answer: String| SystemdError {
        command: format!("systemctl {}", words.join(" ")),
        answer,
    };
    let output = Command::new("systemctl")
        .arg("--no-ask-password")
        .args(words)
        .output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(said.trim().replace('\n', "; ")))
}

#[cfg(test)]
mod tests {
    use super::{is_booted, slice_of};
    use crate::Root;

    #[test]
    fn a_name_is_one_slice_below_ours() {
        assert_eq!(slice_of("db"), "numalab-db.slice");
        assert_eq!(slice_of("a-b.c_d"), "numalab-a\\x2db.c_d.slice");
    }

    #[test]
    fn systemd_is_known_by_its_folder() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path()).unwrap();
        assert!(!is_booted(&root));
        std::fs::create_dir_all(directory.path().join("run/systemd/system")).unwrap();
        assert!(is_booted(&root));
    }
}
