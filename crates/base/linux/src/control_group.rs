//! Files and directories of the cgroup hierarchies (cgroups(7), cpuset(7)). Only this module writes
//! to them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

use crate::process_handle::ProcessHandle;

/// An operation on a cgroup file or directory failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {cause}{}", path.display(), way_out(cause))]
pub struct ControlGroupError {
    /// What was tried, a verb phrase.
    pub action: String,
    /// The file or directory.
    pub path: PathBuf,
    /// The kernel's answer.
    #[source]
    pub cause: io::Error,
}

/// What the operation needs where the file belongs to another user, as all do outside a delegated
/// cgroup.
fn way_out(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EACCES) => "; needs root (CAP_DAC_OVERRIDE)",
        _ => "",
    }
}

impl ControlGroupError {
    fn new(action: impl Into<String>, path: &Path, cause: io::Error) -> Self {
        ControlGroupError {
            action: action.into(),
            path: path.to_owned(),
            cause,
        }
    }

    /// Whether the kernel refused for lack of permission or a read-only file system.
    pub fn is_permission(&self) -> bool {
        let refused = [libc::EPERM, libc::EACCES, libc::EROFS];
        self.cause
            .raw_os_error()
            .is_some_and(|errno| refused.contains(&errno))
    }
}

/// Creates a cgroup.
///
/// # Errors
/// `EACCES` or `EROFS` without permission, `EEXIST` when it exists.
pub fn create(directory: &Path) -> Result<(), ControlGroupError> {
    fs::create_dir(directory)
        .map_err(|cause| ControlGroupError::new("create cgroup", directory, cause))
}

/// Removes an empty cgroup; succeeds if it does not exist.
///
/// # Errors
/// `EBUSY` while it has processes or children.
pub fn remove(directory: &Path) -> Result<(), ControlGroupError> {
    match fs::remove_dir(directory) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(ControlGroupError::new("remove cgroup", directory, cause))
        }
        _ => Ok(()),
    }
}

/// Kills every process in a cgroup. Where the kernel has no `cgroup.kill` (v1, and before Linux
/// 5.14), processes that start during the call survive it and need another one.
///
/// # Errors
/// When the processes cannot be listed or may not be killed. Succeeds if the cgroup does not exist.
pub fn kill_members(directory: &Path) -> Result<(), ControlGroupError> {
    let all_at_once = directory.join("cgroup.kill");
    if fs::write(&all_at_once, "1").is_ok() {
        return Ok(());
    }
    let listed = || fs::read_to_string(directory.join("cgroup.procs"));
    let kill = |cause| ControlGroupError::new("kill the processes of cgroup", directory, cause);
    let members = match listed() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        members => members.map_err(kill)?,
    };
    for pid in members.lines().filter_map(|line| line.parse().ok()) {
        let Some(process) = ProcessHandle::open(pid).map_err(kill)? else {
            continue;
        };
        // List again now that the process is open, to exclude one that has reused the member's id.
        let is_member = listed().is_ok_and(|text| text.lines().any(|it| it.parse() == Ok(pid)));
        if is_member {
            process.kill().map_err(kill)?;
        }
    }
    Ok(())
}

/// Writes one value to a control file in a single write(2), as the kernel demands.
///
/// # Errors
/// The kernel's answer with file and value: `EINVAL`, `ENOSPC` for an empty cpuset, `EBUSY`, …
pub fn write(file: &Path, value: &str) -> Result<(), ControlGroupError> {
    // Writing zero bytes has no effect; an empty line clears a value.
    let bytes = if value.is_empty() { "\n" } else { value }.as_bytes();
    fs::OpenOptions::new()
        .write(true)
        .open(file)
        .and_then(|mut handle| handle.write_all(bytes))
        .map_err(|cause| ControlGroupError::new(format!("write {value:?} to"), file, cause))
}

/// Reads a control file, without the newline at its end.
///
/// # Errors
/// When the file does not exist or may not be read.
pub fn read(file: &Path) -> Result<String, ControlGroupError> {
    fs::read_to_string(file)
        .map(|text| text.trim_end().to_owned())
        .map_err(|cause| ControlGroupError::new("read", file, cause))
}

/// Whether systemd has delegated `directory`, or a cgroup above it up to `mount`, to a user or
/// service that may create groups there (systemd.resource-control(5), `Delegate=`).
pub fn is_delegated(directory: &Path, mount: &Path) -> bool {
    let marked = |directory: &Path| {
        ["user.delegate", "trusted.delegate"].iter().any(|name| {
            let mut value = [0_u8; 8];
            let length = rustix::fs::getxattr(directory, *name, &mut value);
            length.is_ok_and(|length| value[..length] == *b"1")
        })
    };
    let above = directory
        .ancestors()
        .take_while(|above| above.starts_with(mount));
    above.into_iter().any(marked)
}

/// Why this process cannot create a cgroup in `directory`, as text; `None` when it can.
pub fn obstacle(directory: &Path) -> Option<&'static str> {
    // Ask as the effective user, with its capabilities: access(2) ignores those of a non-root user.
    let (writing, as_effective) = (Access::WRITE_OK, AtFlags::EACCESS);
    match rustix::fs::accessat(CWD, directory, writing, as_effective) {
        Ok(()) => None,
        Err(rustix::io::Errno::ROFS) => Some("is on a read-only file system, as in a container"),
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
            Some("is not writable by this user: needs root (CAP_DAC_OVERRIDE)")
        }
        Err(_) => Some("is not writable"),
    }
}
