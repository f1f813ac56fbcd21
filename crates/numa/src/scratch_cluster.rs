//! The folder of a throw-away database cluster: made through the journal, and removed with the
//! server in it, however that was left. Nothing is stopped or removed that is not certainly ours.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linux::Root;

use crate::Error;
use crate::journal::{Change, Journal};

/// What the name of every such folder begins with.
const NAME: &str = "numalab-postgres-";
/// The file that says that a folder is ours: put there first, removed last.
const MARKER: &str = "numalab.cluster";
/// The data directory in the folder.
const DATA: &str = "data";
/// How long a server may take to end once it was told to end at once.
const QUIT_WITHIN: Duration = Duration::from_secs(10);
/// How long the kernel may take to end a process that was killed.
const KILL_WITHIN: Duration = Duration::from_secs(5);

/// A folder that exists; removed by [`ScratchCluster::remove`], or when dropped.
#[derive(Debug)]
pub struct ScratchCluster {
    directory: PathBuf,
    journal: Journal,
    entry: u64,
    removed: bool,
}

impl ScratchCluster {
    /// Makes a folder in `parent` that only this user may enter. `number` tells several of one
    /// process apart.
    ///
    /// # Errors
    /// When the journal or the folder cannot be written; nothing is left behind then.
    pub fn create(parent: &Path, number: u32, journal: &Journal) -> Result<Self, Error> {
        let name = format!("{NAME}{}-{number}", std::process::id());
        // Without symbolic links: the working directory of a process has none either.
        let parent = parent
            .canonicalize()
            .map_err(|cause| folder_error("use", parent, cause))?;
        let directory = parent.join(name);
        let entry = journal.record(Change::ClusterMade {
            directory: directory.clone(),
        })?;
        if let Err(cause) = make(&directory) {
            let removed = fs::remove_dir(&directory);
            // What cannot be removed stays in the journal; what was never made need not.
            if removed.is_ok() || !directory.join(MARKER).exists() {
                journal.mark_undone(entry)?;
            }
            return Err(folder_error("make", &directory, cause));
        }
        Ok(ScratchCluster {
            directory,
            journal: journal.clone(),
            entry,
            removed: false,
        })
    }

    /// The folder.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the data directory belongs.
    pub fn data(&self) -> PathBuf {
        self.directory.join(DATA)
    }

    /// Stops the server, if one runs, and removes the folder.
    ///
    /// # Errors
    /// When it cannot be stopped or removed; it is still in the journal then.
    pub fn remove(mut self) -> Result<(), Error> {
        self.remove_once()
    }

    fn remove_once(&mut self) -> Result<(), Error> {
        self.removed = true;
        remove(&self.directory)?;
        self.journal.mark_undone(self.entry)
    }
}

impl Drop for ScratchCluster {
    fn drop(&mut self) {
        if !self.removed {
            // What fails here stays in the journal, and `numalab undo` takes it back.
            let _ = self.remove_once();
        }
    }
}

fn make(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(directory)?;
    fs::write(
        directory.join(MARKER),
        "a throw-away cluster of numalab; `numalab undo` removes it\n",
    )
}

fn folder_error(action: &'static str, directory: &Path, cause: io::Error) -> Error {
    Error::Folder {
        action,
        path: directory.to_owned(),
        cause,
    }
}

/// Stops the server of a folder and removes the folder. One that is gone is no error.
///
/// # Errors
/// [`Error::Undo`] when the folder is not ours, or its server does not end.
pub(crate) fn remove(directory: &Path) -> Result<(), Error> {
    if !directory.exists() {
        return Ok(());
    }
    let refused = |reason: String| Error::Undo {
        change: Change::ClusterMade {
            directory: directory.to_owned(),
        }
        .to_string(),
        reason,
    };
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let marker = directory.join(MARKER);
    let is_link = directory.symlink_metadata().is_ok_and(|it| it.is_symlink());
    if !name.starts_with(NAME) || is_link || !marker.is_file() {
        let reason = format!("the folder is not one of numalab's: it has no file {MARKER}");
        return Err(refused(reason));
    }
    stop_server(&directory.join(DATA)).map_err(refused)?;
    // The marker goes last: a removal that was cut short can be taken up again.
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

/// What `postmaster.pid` says: the id of the server, and the key and id of its System V segment.
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
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else {
        return Ok(());
    };
    let (pid, segment) = parse_lock_file(&text);
    if let Some(pid) = pid.filter(|pid| is_server_of(*pid, data)) {
        let told = linux::process::quit(pid);
        told.map_err(|cause| format!("process {pid} cannot be told to end: {cause}"))?;
        if !ends(QUIT_WITHIN, || is_server_of(pid, data)) {
            let killed = linux::process::kill(pid);
            killed.map_err(|cause| format!("process {pid} cannot be killed: {cause}"))?;
        }
        if !ends(KILL_WITHIN, || is_server_of(pid, data)) {
            return Err(format!("its server, process {pid}, does not end"));
        }
    }
    kill_orphans(data)?;
    if let Some((key, id)) = segment {
        // One that others have come to use under this id has another key, or is attached.
        let removed = linux::sysv_segments::remove_if_unused(key, id);
        removed.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Processes of a server that was killed: a session in the middle of a call runs on without it.
fn kill_orphans(data: &Path) -> Result<(), String> {
    let root = Root::live();
    let pids = linux::proc_stat::pids(&root).map_err(|error| error.to_string())?;
    for pid in pids.into_iter().filter(|pid| is_server_of(*pid, data)) {
        let killed = linux::process::kill(pid);
        killed.map_err(|cause| format!("process {pid} cannot be killed: {cause}"))?;
        if !ends(KILL_WITHIN, || is_server_of(pid, data)) {
            return Err(format!("process {pid} does not end"));
        }
    }
    Ok(())
}

/// Whether a process is a `postgres` that works in this data directory. Every process of a server
/// does (postmaster.c, `ChangeToDataDir`), and ids are given anew.
fn is_server_of(pid: u32, data: &Path) -> bool {
    let Ok(stat) = linux::proc_stat::read(&Root::live(), pid) else {
        return false;
    };
    stat.name == "postgres"
        && linux::process::working_directory(pid).is_ok_and(|directory| directory == *data)
}

fn ends(within: Duration, runs: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + within;
    while runs() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::{MARKER, NAME, ScratchCluster, parse_lock_file, remove};
    use crate::journal::Journal;

    #[test]
    fn a_folder_is_in_the_journal_while_it_exists() {
        let parent = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(parent.path());
        let cluster = ScratchCluster::create(parent.path(), 3, &journal).unwrap();
        let directory = cluster.directory().to_owned();
        assert!(directory.is_dir() && journal.in_force().unwrap().len() == 1);
        fs::create_dir(cluster.data()).unwrap();
        fs::write(cluster.data().join("postmaster.pid"), "1\n").unwrap();
        fs::write(directory.join("log"), "x").unwrap();
        cluster.remove().unwrap();
        assert!(!directory.exists() && journal.in_force().unwrap().is_empty());
        remove(&directory).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_not_in_the_journal() {
        let parent = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(parent.path());
        let nowhere = parent.path().join("nowhere");
        let error = ScratchCluster::create(&nowhere, 0, &journal).unwrap_err();
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
        let link = parent.path().join(format!("{NAME}3-0"));
        std::os::unix::fs::symlink(parent.path().join("var-lib-postgresql"), &link).unwrap();
        assert!(remove(&link).is_err());
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
