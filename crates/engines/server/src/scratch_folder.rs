//! The folder of a throw-away server of one process: created through the journal, and removed with
//! that process, whatever their state. Ends and removes only what is certainly numalab's.

use std::fmt::{self, Display, Formatter};
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, lchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use journal::{Change, Error, Journal, Kind, Presence, ProcessIdentity, TakeBack};
use linux::Root;
use linux::process_handle::ProcessHandle;
use model::ServerKind;
use serde::{Deserialize, Serialize};

use crate::folder_rules::{self, folder_error};

/// The data directory inside a folder, in which its server works.
const DATA: &str = "data";
/// Timeout for the kernel to end a killed process.
const KILL_WITHIN: Duration = Duration::from_secs(5);

/// The kinds of changes that throw-away servers of one process require.
pub const CHANGES: &[Kind] = &[Kind::of::<FolderMade>()];

/// The folder of a throw-away server was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderMade {
    /// The database. The journal has the kind of the change under `kind`.
    server: ServerKind,
    /// The name of the server's process, as the kernel knows it.
    process: String,
    /// The folder.
    directory: PathBuf,
}

impl Display for FolderMade {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, folder) = (self.server.name(), self.directory.display());
        write!(f, "folder {folder} of a throw-away {name}")
    }
}

impl Change for FolderMade {
    const KIND: &'static str = "server-folder-made";
    const OUTLIVES_A_BOOT: bool = true;

    fn presence(&self, made_by: &ProcessIdentity) -> Result<Presence, Error> {
        let is_ours = folder_rules::is_name_of(self.server, &self.directory, made_by.pid);
        Ok(Presence::there_if(is_ours, self.directory.display()))
    }

    fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, Error> {
        self.remove().map(|()| None)
    }
}

impl FolderMade {
    /// Ends the server of the folder and removes it. A missing one is not an error.
    fn remove(&self) -> Result<(), Error> {
        if !self.directory.exists() {
            return Ok(());
        }
        let refused = |reason: String| Error::Undo {
            change: self.to_string(),
            reason,
        };
        folder_rules::require_ours(self.server, &self.directory).map_err(refused)?;
        self.end_processes().map_err(refused)?;
        folder_rules::remove(&self.directory)
    }

    /// Kills the processes of the server: nothing of it is needed any more.
    fn end_processes(&self) -> Result<(), String> {
        let pids = linux::proc_stat::pids(&Root::live()).map_err(|error| error.to_string())?;
        let servers = pids
            .into_iter()
            .filter_map(|pid| Some((pid, self.process_of(pid)?)));
        for (pid, server) in servers {
            let killed = server.kill();
            killed.map_err(|cause| format!("process {pid} cannot be killed: {cause}"))?;
            match server.ends_within(KILL_WITHIN) {
                Ok(true) => {}
                Ok(false) => return Err(format!("its server's process {pid} does not end")),
                Err(cause) => return Err(format!("waiting for the end of {pid}: {cause}")),
            }
        }
        Ok(())
    }

    /// Opens the process with this id if it has the server's name and works in the data directory.
    /// It is opened before it is examined, since ids are reused.
    fn process_of(&self, pid: u32) -> Option<ProcessHandle> {
        let handle = ProcessHandle::open(pid).ok()??;
        let stat = linux::proc_stat::read(&Root::live(), pid).ok()?;
        let works_in = linux::process::working_directory(pid).ok()?;
        (stat.name == self.process && works_in == self.directory.join(DATA)).then_some(handle)
    }
}

/// An existing folder; removed on drop.
#[derive(Debug)]
pub struct ScratchFolder {
    made: FolderMade,
    /// User and group of the server, if they are not this process's.
    user: Option<(u32, u32)>,
    journal: Journal,
    entry: u64,
}

impl ScratchFolder {
    /// Creates a folder in `parent` that stays this user's. No other user may enter it except the
    /// server's, if that is another user: it passes through to what [`ScratchFolder::give`] gives
    /// it. The server is the process with the name `process`.
    ///
    /// # Errors
    /// When the journal or the folder cannot be written; nothing is left behind then.
    pub fn create(
        (kind, process): (ServerKind, &str),
        parent: &Path,
        user: Option<(u32, u32)>,
        journal: &Journal,
    ) -> Result<Self, Error> {
        // Without symbolic links: the working directory of a process has none either.
        let parent = parent
            .canonicalize()
            .and_then(|parent| folder_rules::require_safe(&parent).map(|()| parent))
            .map_err(|cause| folder_error("use", parent, cause))?;
        let directory = parent.join(folder_rules::name_of(kind, std::process::id(), 0));
        let process = process.to_owned();
        let made = FolderMade {
            server: kind,
            process,
            directory,
        };
        let entry = made.clone().record(journal)?;
        if let Err(cause) = folder_rules::make(&made.directory, user) {
            let removed = std::fs::remove_dir(&made.directory);
            // What cannot be removed stays in the journal; what was never created need not.
            if removed.is_ok() || !folder_rules::is_made(&made.directory) {
                journal.mark_undone(entry)?;
            }
            return Err(folder_error("make", &made.directory, cause));
        }
        Ok(ScratchFolder {
            made,
            user,
            journal: journal.clone(),
            entry,
        })
    }

    /// Creates an empty subdirectory that belongs to the server's user, and only to that user. From
    /// then on numalab must neither write nor trust anything in it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn give(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.made.directory.join(name);
        let made = DirBuilder::new().mode(0o700).create(&path);
        let given = made.and_then(|()| match self.user {
            Some((uid, gid)) => lchown(&path, Some(uid), Some(gid)),
            None => Ok(()),
        });
        given.map_err(|cause| folder_error("make", &path, cause))?;
        Ok(path)
    }

    /// Creates the data directory, in which the server must work, so that it is found there.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn give_data(&self) -> Result<PathBuf, Error> {
        self.give(DATA)
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.made.directory
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What fails here stays in the journal, for `numalab undo`.
        if self.made.remove().is_ok() {
            let _ = self.journal.mark_undone(self.entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use journal::Journal;
    use model::ServerKind;

    use super::{FolderMade, ScratchFolder, folder_rules};

    const KIND: ServerKind = ServerKind::named("postgres");

    fn made(directory: &Path) -> FolderMade {
        FolderMade {
            server: KIND,
            process: "server".to_owned(),
            directory: directory.to_owned(),
        }
    }

    #[test]
    fn a_folder_is_in_the_journal_while_it_exists() {
        let parent = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(parent.path());
        let folder = ScratchFolder::create((KIND, "x"), parent.path(), None, &journal).unwrap();
        let path = folder.path().to_owned();
        assert!(path.is_dir() && journal.in_force().unwrap().len() == 1);
        fs::write(folder.give_data().unwrap().join("file"), "x").unwrap();
        fs::write(path.join("log"), "x").unwrap();
        drop(folder);
        assert!(!path.exists() && journal.in_force().unwrap().is_empty());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_not_in_the_journal() {
        let parent = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(parent.path());
        let shared = parent.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
        for (folder, why) in [("nowhere", "nowhere"), ("shared", "TMPDIR")] {
            let folder = parent.path().join(folder);
            let made = ScratchFolder::create((KIND, "x"), &folder, None, &journal);
            let error = made.unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
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
                fs::write(directory.join("numalab.cluster"), "").unwrap();
            }
            assert_eq!(made(&directory).remove().is_ok(), removed, "{name}");
            assert_eq!(directory.exists(), !removed, "{name}");
        };
        check("var-lib", true, false);
        check("numalab-postgres-1-0", false, false);
        check("numalab-other-1-0", true, false);
        check("numalab-postgres-2-0", true, true);
        made(&parent.path().join("gone")).remove().unwrap();
        let link = parent.path().join("numalab-postgres-3-0");
        std::os::unix::fs::symlink(parent.path().join("var-lib"), &link).unwrap();
        assert!(made(&link).remove().is_err());
    }

    #[test]
    fn a_folder_of_another_process_is_not_the_one_of_the_journal() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().canonicalize().unwrap();
        let is_of_17 = |name: &str| folder_rules::is_name_of(KIND, &parent.join(name), 17);
        assert!(is_of_17("numalab-postgres-17-0"));
        assert!(!is_of_17("numalab-postgres-1-0"));
        assert!(!is_of_17("numalab-postgres-17-"));
    }
}
