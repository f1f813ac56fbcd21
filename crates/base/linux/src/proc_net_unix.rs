//! The Unix sockets on which a process listens: `/proc/PID/net/unix` (proc_pid_net(5)) has those of
//! its network namespace, `/proc/PID/fd` has its own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::socket_descriptors::sockets_of;
use crate::{Error, Root, TextFile};

/// `__SO_ACCEPTCON` (include/uapi/linux/net.h), as in the file.
const LISTENING: &str = "00010000";

/// Returns the paths on which process `pid` listens, as it knows them: in a container, below
/// `/proc/PID/root`. None in a capture, which has no sockets.
///
/// # Errors
/// When the process is gone or may not be inspected.
pub fn listening_paths(root: &Root, pid: u32) -> Result<Vec<PathBuf>, Error> {
    let file = root.read_lossy(&format!("proc/{pid}/net/unix"))?;
    let by_socket = listening(&file);
    let sockets = sockets_of(root, pid)?;
    let mut paths: Vec<PathBuf> = sockets
        .iter()
        .filter_map(|socket| by_socket.get(socket))
        .map(PathBuf::from)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

/// Returns the paths of sockets that listen, by inode. A path may have any character but NUL and a
/// line break; abstract names begin with `@` and are no paths.
fn listening(file: &TextFile) -> BTreeMap<u64, String> {
    let socket = |(_, line): (usize, &str)| {
        // Num RefCount Protocol Flags Type St Inode Path
        let (before, path) = line.split_once(" /")?;
        let mut words = before.split_ascii_whitespace().skip(3);
        let is_listening = words.next()? == LISTENING;
        let inode: u64 = words.nth(2)?.parse().ok()?;
        is_listening.then(|| (inode, format!("/{path}")))
    };
    file.lines().filter_map(socket).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn the_socket_that_this_process_listens_on_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let _client = UnixStream::connect(&path).unwrap();
        let found = listening_paths(&Root::live(), std::process::id()).unwrap();
        let count = found.iter().filter(|it| **it == path).count();
        assert_eq!(count, 1, "{found:?}");
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("[0-9a-f: /@\n]{0,200}", &|text| {
            let _ = listening(&TextFile::new("unix", text));
        });
    }
}
