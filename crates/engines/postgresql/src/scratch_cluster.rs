//! The directory of a throw-away database cluster: created through the journal, and removed with
//! its server, whatever their state. Stops and removes only what is certainly numalab's.

use std::fmt::{self, Display, Formatter};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use journal::{Change, Error, Journal, Presence, ProcessIdentity, TakeBack};
use linux::Root;
use linux::process_handle::ProcessHandle;
use serde::{Deserialize, Serialize};

/// Prefix of the name of every such directory.
const NAME: &str = "numalab-postgres-";
/// The file that marks a directory as numalab's: created first, removed last.
const MARKER: &str = "numalab.cluster";
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
    directory: PathBuf,
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
        let is_ours = is_name_of(&self.directory, made_by.pid);
        Ok(Presence::there_if(is_ours, self.directory.display()))
    }

    fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, Error> {
        remove(&self.directory).map(|()| None)
    }
}

/// An existing directory; removed on drop.
#[derive(Debug)]
pub(crate) struct ScratchCluster {
    directory: PathBuf,
    /// User and group of the server, if they are not this process's.
    user: Option<(u32, u32)>,
    journal: Journal,
    entry: u64,
    removed: bool,
}

impl ScratchCluster {
    /// Creates a directory in `parent` that stays this user's. No other user may enter it except
    /// the server's, if that is another user: it passes through to what [`ScratchCluster::give`]
    /// gives it. `number` distinguishes several directories of one process.
    ///
    /// # Errors
    /// When the journal or the directory cannot be written; nothing is left behind then.
    pub(crate) fn create(
        parent: &Path,
        number: u32,
        user: Option<(u32, u32)>,
        journal: &Journal,
    ) -> Result<Self, Error> {
        let name = format!("{NAME}{}-{number}", std::process::id());
        // Without symbolic links: the working directory of a process has none either.
        let parent = parent
            .canonicalize()
            .and_then(|parent| require_safe(&parent).map(|()| parent))
            .map_err(|cause| folder_error("use", parent, cause))?;
        let directory = parent.join(name);
        let entry = ClusterMade {
            directory: directory.clone(),
        }
        .record(journal)?;
        if let Err(cause) = make(&directory, user) {
            let removed = fs::remove_dir(&directory);
            // What cannot be removed stays in the journal; what was never created need not.
            if removed.is_ok() || !directory.join(MARKER).exists() {
                journal.mark_undone(entry)?;
            }
            return Err(folder_error("make", &directory, cause));
        }
        Ok(ScratchCluster {
            directory,
            user,
            journal: journal.clone(),
            entry,
            removed: false,
        })
    }

    /// Creates an empty subdirectory that belongs to the server's user, and only to that user. From
    /// then on numalab must neither write nor trust anything in it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn give(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.directory.join(name);
        let made = DirBuilder::new().mode(0o700).create(&path);
        let given = made.and_then(|()| match self.user {
            Some((uid, gid)) => lchown(&path, Some(uid), Some(gid)),
            None => Ok(()),
        });
        given.map_err(|cause| folder_error("make", &path, cause))?;
        Ok(path)
    }

    /// Returns the directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates the data directory, which identifies its server, for the server's user.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn give_data(&self) -> Result<PathBuf, Error> {
        self.give(DATA)
    }

    /// Stops the server, if one runs, and removes the directory.
    fn remove_once(&mut self) -> Result<(), Error> {
        self.removed = true;
        remove(&self.directory)?;
        self.journal.mark_undone(self.entry)
    }
}

impl Drop for ScratchCluster {
    fn drop(&mut self) {
        if !self.removed {
            // What fails here stays in the journal, for `numalab undo`.
            let _ = self.remove_once();
        }
    }
}

/// Refuses a directory in which another user could replace numalab's.
fn require_safe(parent: &Path) -> io::Result<()> {
    let status = fs::metadata(parent)?;
    let is_owner_trusted = [0, linux::process::user()].contains(&status.uid());
    let is_shared = status.mode() & 0o022 != 0;
    let is_sticky = status.mode() & 0o1000 != 0;
    if is_owner_trusted && (is_sticky || !is_shared) {
        return Ok(());
    }
    let (owner, mode) = (status.uid(), status.mode() & 0o7777);
    Err(io::Error::other(format!(
        "it belongs to user {owner} with mode {mode:o}, so others could replace its contents; set \
         TMPDIR to another directory"
    )))
}

/// Returns whether this is the path of a directory that process `pid` created, without symbolic
/// links.
pub(crate) fn is_name_of(directory: &Path, pid: u32) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.strip_prefix(NAME)?.strip_prefix(&format!("{pid}-")));
    let is_number = number.is_some_and(|number| number.parse::<u32>().is_ok());
    let real = directory.canonicalize();
    is_number && real.map_or(true, |real| real.as_os_str() == directory.as_os_str())
}

fn make(directory: &Path, user: Option<(u32, u32)>) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(directory)?;
    fs::write(
        directory.join(MARKER),
        "a throw-away cluster of numalab; `numalab undo` removes it\n",
    )?;
    let Some((_, gid)) = user else {
        return Ok(());
    };
    lchown(directory, None, Some(gid))?;
    fs::set_permissions(directory, Permissions::from_mode(0o710))
}

fn folder_error(action: &'static str, directory: &Path, cause: io::Error) -> Error {
    Error::Folder {
        action,
        path: directory.to_owned(),
        cause,
    }
}

/// Stops the server of a directory and removes the directory. A missing one is not an error.
///
/// # Errors
/// [`Error::Undo`] when the directory is not numalab's, or its server does not end.
pub(crate) fn remove(directory: &Path) -> Result<(), Error> {
    if !directory.exists() {
        return Ok(());
    }
    let refused = |reason: String| Error::Undo {
        change: ClusterMade {
            directory: directory.to_owned(),
        }
        .to_string(),
        reason,
    };
    require_ours(directory).map_err(refused)?;
    stop_server(&directory.join(DATA)).map_err(refused)?;
    let marker = directory.join(MARKER);
    // The marker goes last, so that an interrupted removal can be resumed.
    let entries =
        fs::read_dir(directory).map_err(|cause| folder_error("list", directory, cause))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path == marker {
            continue;
        }
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = match is_directory {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        removed.map_err(|cause| folder_error("remove", &path, cause))?;
    }
    fs::remove_file(&marker)
        .and_then(|()| fs::remove_dir(directory))
        .map_err(|cause| folder_error("remove", directory, cause))
}

/// Refuses a directory that numalab did not create. Its own belong to the user who created them,
/// and no other user can write to them, whatever the server does in the directories given to it.
fn require_ours(directory: &Path) -> Result<(), String> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let is_ours = |path: &Path, is_folder: bool| {
        let status = path.symlink_metadata().map_err(|cause| cause.to_string())?;
        let is_kind = match is_folder {
            true => status.is_dir(),
            // A file with a second hard link existed before.
            false => status.is_file() && status.nlink() == 1,
        };
        if !is_kind {
            return Err(format!("{} is something else", path.display()));
        }
        let (owner, mode) = (status.uid(), status.mode() & 0o7777);
        if owner != linux::process::user() || mode & 0o022 != 0 {
            let path = path.display();
            return Err(format!("{path} belongs to user {owner}, mode {mode:o}"));
        }
        Ok(())
    };
    let named = match name.starts_with(NAME) {
        true => Ok(()),
        false => Err(format!("its name does not begin with {NAME}")),
    };
    named
        .and_then(|()| is_ours(directory, true))
        .and_then(|()| is_ours(&directory.join(MARKER), false))
        .map_err(|reason| format!("this user's numalab did not create the directory: {reason}"))
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
    use proptest::prelude::*;
    use testing::{Need, not_run};

    use super::*;

    #[test]
    fn a_folder_is_in_the_journal_while_it_exists() {
        let parent = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(parent.path());
        let mut cluster = ScratchCluster::create(parent.path(), 3, None, &journal).unwrap();
        let directory = cluster.directory().to_owned();
        assert!(directory.is_dir() && journal.in_force().unwrap().len() == 1);
        let data = cluster.give_data().unwrap();
        fs::write(data.join(LOCK_FILE), "1\n").unwrap();
        fs::write(directory.join("log"), "x").unwrap();
        cluster.remove_once().unwrap();
        assert!(!directory.exists() && journal.in_force().unwrap().is_empty());
        remove(&directory).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_not_in_the_journal() {
        let parent = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(parent.path());
        let nowhere = parent.path().join("nowhere");
        let error = ScratchCluster::create(&nowhere, 0, None, &journal).unwrap_err();
        assert!(error.to_string().contains("nowhere"), "{error}");
        assert!(journal.in_force().unwrap().is_empty());
    }

    #[test]
    fn nothing_is_removed_that_is_not_ours() {
        let parent = tempfile::tempdir().unwrap();
        let check = |name: &str, marker: bool, removed: bool| {
            let directory = parent.path().join(name);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("precious"), "x").unwrap();
            if marker {
                fs::write(directory.join(MARKER), "").unwrap();
            }
            assert_eq!(remove(&directory).is_ok(), removed, "{name}");
            assert_eq!(directory.exists(), !removed, "{name}");
        };
        check("var-lib-postgresql", true, false);
        check(&format!("{NAME}1-0"), false, false);
        check(&format!("{NAME}2-0"), true, true);
        let shared = parent.path().join(format!("{NAME}4-0"));
        fs::create_dir(&shared).unwrap();
        fs::write(shared.join(MARKER), "").unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
        let refused = remove(&shared).unwrap_err().to_string();
        assert!(refused.contains("mode 777"), "{refused}");
        let link = parent.path().join(format!("{NAME}3-0"));
        std::os::unix::fs::symlink(parent.path().join("var-lib-postgresql"), &link).unwrap();
        assert!(remove(&link).is_err());
        // A marker that existed before and now also has this name.
        let linked = parent.path().join(format!("{NAME}5-0"));
        fs::create_dir(&linked).unwrap();
        let marker = parent.path().join("var-lib-postgresql").join(MARKER);
        fs::hard_link(marker, linked.join(MARKER)).unwrap();
        assert!(remove(&linked).is_err() && linked.exists());
    }

    #[test]
    fn the_marker_of_another_user_marks_nothing() {
        if !linux::process::is_root() {
            let test = "the_marker_of_another_user_marks_nothing";
            return not_run(test, Need::Root, "only root gives a file away");
        }
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join(format!("{NAME}1-0"));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(MARKER), "").unwrap();
        std::os::unix::fs::chown(directory.join(MARKER), Some(65_534), None).unwrap();
        let error = remove(&directory).unwrap_err().to_string();
        assert!(
            error.contains("numalab.cluster belongs to user 65534"),
            "{error}"
        );
        assert!(directory.join(MARKER).exists());
    }

    #[test]
    fn a_folder_has_the_number_of_its_process_and_no_link_on_the_way() {
        let parent = tempfile::tempdir().unwrap();
        let real = parent.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        let folder = format!("{NAME}17-0");
        fs::create_dir(real.join(&folder)).unwrap();
        assert!(is_name_of(&real.join(&folder), 17));
        assert!(is_name_of(&real.join(format!("{NAME}17-3")), 17));
        assert!(!is_name_of(&real.join(&folder), 1));
        assert!(!is_name_of(&real.join("link").join(&folder), 17));
        assert!(!is_name_of(&real.join(format!("{NAME}17-")), 17));
        assert!(!is_name_of(&real, 17));
    }

    #[test]
    fn a_folder_where_others_could_replace_ours_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(parent.path());
        let check = |mode: u32, is_made: bool| {
            let folder = parent.path().join(format!("{mode:o}"));
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            let made = ScratchCluster::create(&folder, 0, None, &journal);
            assert_eq!(made.is_ok(), is_made, "{mode:o}");
        };
        check(0o700, true);
        check(0o755, true);
        check(0o1777, true);
        check(0o777, false);
        check(0o770, false);
        assert!(journal.in_force().unwrap().is_empty());
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
        let journal = Journal::in_directory(parent.path());
        let user = Some((NOBODY, NOBODY));
        let mut cluster = ScratchCluster::create(parent.path(), 0, user, &journal).unwrap();
        let data = cluster.give_data().unwrap();
        let folder = cluster.directory().to_owned();
        let precious = parent.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        let tried = linux::process::as_user(NOBODY, NOBODY, || {
            use std::os::unix::fs::symlink;
            let in_ours = [
                symlink(&precious, folder.join("log")).is_ok(),
                fs::remove_file(folder.join(MARKER)).is_ok(),
                fs::rename(&data, folder.join("other")).is_ok(),
            ];
            // In its own directory it may do what it likes.
            symlink(&precious, data.join("base")).unwrap();
            symlink("/proc/1/environ", data.join(LOCK_FILE)).unwrap();
            in_ours
        });
        assert_eq!(tried.unwrap(), [false; 3]);
        cluster.remove_once().unwrap();
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
