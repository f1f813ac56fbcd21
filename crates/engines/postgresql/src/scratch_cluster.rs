//! The directory of a throw-away database cluster in the journal, and how its server is ended,
//! whatever its state. Stops only what is certainly numalab's.

use std::fmt::{self, Display, Formatter};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use journal::{Change, Error, Presence, ProcessIdentity, TakeBack};
use linux::Root;
use linux::process_handle::ProcessHandle;
use model::ServerKind;
use serde::{Deserialize, Serialize};
use server::MadeFolder;

use crate::kind::KIND;

/// The data directory inside it.
const DATA: &str = "data";
/// The file in which a server identifies itself, about 100 bytes.
const LOCK_FILE: &str = "postmaster.pid";
/// Maximum bytes of it to read.
const LOCK_FILE_BYTES_MAX: u64 = 4096;
/// Timeout for a server to end after an immediate shutdown request.
const QUIT_WITHIN: Duration = Duration::from_secs(10);
/// Timeout for the kernel to end a killed process.
const KILL_WITHIN: Duration = Duration::from_secs(5);

/// A throw-away database cluster was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClusterMade {
    /// Its directory.
    pub directory: PathBuf,
}

impl Display for ClusterMade {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "throw-away cluster {}", self.directory.display())
    }
}

impl Change for ClusterMade {
    const KIND: &'static str = "cluster-made";
    const OUTLIVES_A_BOOT: bool = true;

    fn presence(&self, made_by: &ProcessIdentity) -> Result<Presence, Error> {
        Ok(self.presence_of(made_by))
    }

    fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, Error> {
        self.remove().map(|()| None)
    }
}

impl MadeFolder for ClusterMade {
    fn server(&self) -> ServerKind {
        KIND
    }

    fn folder(&self) -> &Path {
        &self.directory
    }

    fn end_server(&self) -> Result<(), String> {
        stop_server(&self.directory.join(DATA))
    }
}

/// Parses `postmaster.pid`: the PID of the server, and the key and id of its System V segment.
///
/// ```text
/// 4711                 line 1: PID
/// /tmp/x/data
/// 1795248000
/// 5432
/// /tmp/x
///                      line 6: listen address
///   16803073     32770 line 7: key and id of the segment
/// ready
/// ```
fn parse_lock_file(text: &str) -> (Option<u32>, Option<(i32, i32)>) {
    let mut lines = text.lines();
    let pid = lines.next().and_then(|line| line.trim().parse().ok());
    let segment = lines.nth(5).and_then(|line| {
        let mut words = line.split_ascii_whitespace();
        // PostgreSQL writes the key as an unsigned number.
        let key = words.next()?.parse::<u32>().ok()?.cast_signed();
        Some((key, words.next()?.parse().ok()?))
    });
    (pid, segment)
}

/// Ends the server whose data directory this is, with all its processes and shared memory.
fn stop_server(data: &Path) -> Result<(), String> {
    let Ok(status) = data.symlink_metadata() else {
        return Ok(());
    };
    // The server's user writes the file: it may be anything, and serves only to select the
    // processes and the segment to examine.
    let path = data.join(LOCK_FILE);
    let text = linux::plain_file::read_start(&path, LOCK_FILE_BYTES_MAX).unwrap_or_default();
    let (pid, segment) = parse_lock_file(&text.unwrap_or_default());
    if let Some((pid, server)) = pid.and_then(|pid| Some((pid, process_of(pid, data)?))) {
        let told = server.quit();
        told.map_err(|cause| format!("process {pid} cannot be told to end: {cause}"))?;
        if !ends(&server, QUIT_WITHIN)? {
            kill(pid, &server)?;
        }
    }
    kill_orphans(data)?;
    if let Some((key, id)) = segment {
        // If another process has created a segment with this id since, it has another key or is
        // attached; a segment that the server's user did not create is not the server's.
        let removed = linux::sysv_segments::remove_if_unused(key, id, status.uid());
        removed.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Kills what a killed server left behind: a session in the middle of a call outlives it.
fn kill_orphans(data: &Path) -> Result<(), String> {
    let pids = linux::proc_stat::pids(&Root::live()).map_err(|error| error.to_string())?;
    let orphans = pids
        .into_iter()
        .filter_map(|pid| Some((pid, process_of(pid, data)?)));
    for (pid, orphan) in orphans {
        kill(pid, &orphan)?;
    }
    Ok(())
}

fn kill(pid: u32, process: &ProcessHandle) -> Result<(), String> {
    let killed = process.kill();
    killed.map_err(|cause| format!("process {pid} cannot be killed: {cause}"))?;
    match ends(process, KILL_WITHIN)? {
        true => Ok(()),
        false => Err(format!("its server's process {pid} does not end")),
    }
}

/// Opens the process with this id if it is a `postgres` whose working directory is this data
/// directory, as it is for every process of a server (postmaster.c, `ChangeToDataDir`). It is
/// opened before it is examined, since ids are reused.
fn process_of(pid: u32, data: &Path) -> Option<ProcessHandle> {
    let handle = ProcessHandle::open(pid).ok()??;
    let stat = linux::proc_stat::read(&Root::live(), pid).ok()?;
    let directory = linux::process::working_directory(pid).ok()?;
    (stat.name == "postgres" && directory == *data).then_some(handle)
}

fn ends(process: &ProcessHandle, within: Duration) -> Result<bool, String> {
    let ended = process.ends_within(within);
    ended.map_err(|cause| format!("waiting for its end: {cause}"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use journal::Journal;
    use observed::ServerUser;
    use proptest::prelude::*;
    use server::ScratchFolder;
    use testing::{Need, not_run};

    use super::*;

    /// A folder in `parent` for the server of `user`.
    fn scratch(parent: &Path, user: Option<ServerUser>) -> (Journal, ScratchFolder<ClusterMade>) {
        let journal = Journal::in_directory(parent);
        let made = |directory| ClusterMade { directory };
        let scratch = ScratchFolder::make(KIND, parent, user, &journal, made).unwrap();
        (journal, scratch)
    }

    #[test]
    fn a_folder_goes_with_the_lock_file_of_a_server_that_is_not_its_own() {
        let parent = tempfile::tempdir().unwrap();
        let (journal, scratch) = scratch(parent.path(), None);
        let folder = scratch.path().to_owned();
        assert_eq!(journal.in_force().unwrap().len(), 1);
        fs::write(scratch.give_data().unwrap().join(LOCK_FILE), "1\n").unwrap();
        drop(scratch);
        assert!(!folder.exists() && journal.in_force().unwrap().is_empty());
    }

    /// The server's user cannot replace anything that root writes, reads, removes or stops, since
    /// it stays root's.
    #[test]
    fn the_servers_user_cannot_lead_root_elsewhere() {
        if !linux::process::is_root() {
            let test = "the_servers_user_cannot_lead_root_elsewhere";
            return not_run(
                test,
                Need::Root,
                "only root starts a server as another user",
            );
        }
        const NOBODY: u32 = 65_534;
        let parent = tempfile::tempdir().unwrap();
        fs::set_permissions(parent.path(), Permissions::from_mode(0o755)).unwrap();
        let (uid, gid) = (NOBODY, NOBODY);
        let (_, cluster) = scratch(parent.path(), Some(ServerUser { uid, gid }));
        let data = cluster.give_data().unwrap();
        let folder = cluster.path().to_owned();
        let precious = parent.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        let tried = linux::process::as_user(NOBODY, NOBODY, || {
            use std::os::unix::fs::symlink;
            let in_ours = [
                symlink(&precious, folder.join("log")).is_ok(),
                fs::remove_file(folder.join("numalab.cluster")).is_ok(),
                fs::rename(&data, folder.join("other")).is_ok(),
            ];
            // In its own directory it may do what it likes.
            symlink(&precious, data.join("base")).unwrap();
            symlink("/proc/1/environ", data.join(LOCK_FILE)).unwrap();
            in_ours
        });
        assert_eq!(tried.unwrap(), [false; 3]);
        drop(cluster);
        assert!(!folder.exists() && precious.join("file").exists());
    }

    #[test]
    fn the_lock_file_names_the_server_and_its_segment() {
        let text =
            "4711\n/tmp/x/data\n1795248000\n5432\n/tmp/x\n\n  4026531841     32770\nready   \n";
        let expected = (Some(4711), Some((4_026_531_841_u32.cast_signed(), 32770)));
        assert_eq!(parse_lock_file(text), expected);
        assert_eq!(parse_lock_file("4711\n"), (Some(4711), None));
        assert_eq!(parse_lock_file(""), (None, None));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,20}(\n[0-9 -]{0,30}){0,9}") {
            parse_lock_file(&text);
        }
    }
}
