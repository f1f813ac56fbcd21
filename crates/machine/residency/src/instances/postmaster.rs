//! The postmaster of a PostgreSQL data directory: the process that `postmaster.pid` names, if it is
//! still the one that wrote the file.

use std::io::ErrorKind;

use linux::{Root, proc_stat};

use super::InstanceError;

/// Returns its PID.
///
/// # Errors
/// [`InstanceError::NoServer`] when no server runs on the directory, as far as that can be seen.
pub(super) fn find(root: &Root, directory: &str) -> Result<u32, InstanceError> {
    let no_server = |reason: String| InstanceError::NoServer {
        directory: directory.to_owned(),
        reason,
    };
    let file = match root.read_lossy(&format!("{directory}/postmaster.pid")) {
        Ok(file) => file,
        Err(linux::Error::Read { cause, .. })
            if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            let reason = match root.require(directory) {
                Ok(()) => "it has no postmaster.pid",
                Err(_) => "there is no such directory",
            };
            return Err(no_server(reason.to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let first = file.text().lines().next().unwrap_or("").trim();
    let Ok(pid) = first.parse() else {
        let reason = "expected the PID of a postmaster on the first line of postmaster.pid";
        return Err(no_server(reason.to_owned()));
    };
    // A stale file, or one that a server in a container wrote, names an unrelated process. Every
    // process of a server works in its data directory (postmaster.c, `ChangeToDataDir`).
    if root.is_live() && linux::process::works_in(pid, directory.as_ref()) == Some(false) {
        let name = proc_stat::read(root, pid).map_or(String::new(), |stat| stat.name);
        return Err(no_server(format!(
            "postmaster.pid names process {pid} ({name}), which has another working directory"
        )));
    }
    Ok(pid)
}
