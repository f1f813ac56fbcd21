//! The sockets that a process has open: links `socket:[INODE]` in `/proc/PID/fd` (proc_pid_fd(5)).

use std::fs;

use crate::{Error, Root};

/// Returns the inodes of the sockets of process `pid`; none in a capture, which has no descriptors.
///
/// # Errors
/// When the process is gone or may not be inspected.
pub(crate) fn sockets_of(root: &Root, pid: u32) -> Result<Vec<u64>, Error> {
    let directory = format!("proc/{pid}/fd");
    let descriptors = root.entries(&directory)?.unwrap_or_default();
    let inode = |descriptor: &String| {
        // Skip descriptors that were closed in the meantime.
        let link = fs::read_link(root.path(&format!("{directory}/{descriptor}"))).ok()?;
        let socket = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        socket.parse().ok()
    };
    Ok(descriptors.iter().filter_map(inode).collect())
}
