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
use observed::ServerUser;
use serde::{Deserialize, Serialize};

use crate::folder_rules::{self, folder_error};
use crate::made_folder::MadeFolder;

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
        Ok(self.presence_of(made_by))
    }

    fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, Error> {
        self.remove().map(|()| None)
    }
}

impl MadeFolder for FolderMade {
    fn server(&self) -> ServerKind {
        self.server
    }

    fn folder(&self) -> &Path {
        &self.directory
    }

    /// Kills the processes of the server: nothing of it is needed any more.
    fn end_server(&self) -> Result<(), String> {
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
}

impl FolderMade {
    /// Opens the process with this id if it has the server's name and works in the data directory.
    /// It is opened before it is examined, since ids are reused.
    fn process_of(&self, pid: u32) -> Option<ProcessHandle> {
        let handle = ProcessHandle::open(pid).ok()??;
        let stat = linux::proc_stat::read(&Root::live(), pid).ok()?;
        let works_in = linux::process::working_directory(pid).ok()?;
        (stat.name == self.process && works_in == self.directory.join(DATA)).then_some(handle)
    }
}

/// An existing folder; removed on drop, with its server.
#[derive(Debug)]
pub struct ScratchFolder<M: MadeFolder = FolderMade> {
    made: M,
    /// User and group of the server, if they are not this process's.
    user: Option<ServerUser>,
    journal: Journal,
    entry: u64,
}

impl ScratchFolder {
    /// Creates the folder of a server of one process, which has the name `process`: as
    /// [`ScratchFolder::make`].
    ///
    /// # Errors
    /// As [`ScratchFolder::make`].
    pub fn create(
        (server, process): (ServerKind, &str),
        parent: &Path,
        user: Option<ServerUser>,
        journal: &Journal,
    ) -> Result<Self, Error> {
        Self::make(server, parent, user, journal, |directory| FolderMade {
            server,
            process: process.to_owned(),
            directory,
        })
    }
}

impl<M: MadeFolder> ScratchFolder<M> {
    /// Creates a folder in `parent` that stays this user's; `made` is the change in the journal.
    /// No other user may enter it except the server's, if that is another user: it passes through
    /// to what [`ScratchFolder::give`] gives it.
    ///
    /// # Errors
    /// When the journal or the folder cannot be written; nothing is left behind then.
    pub fn make(
        server: ServerKind,
        parent: &Path,
        user: Option<ServerUser>,
        journal: &Journal,
        made: impl FnOnce(PathBuf) -> M,
    ) -> Result<Self, Error> {
        // Without symbolic links: the working directory of a process has none either.
        let parent = folder_rules::safe_place(parent)?;
        let made = made(parent.join(folder_rules::name_of(server, std::process::id())));
        let entry = made.clone().record(journal)?;
        let group = user.map(|user| user.gid);
        if let Err(cause) = folder_rules::make(made.folder(), group) {
            let removed = std::fs::remove_dir(made.folder());
            // What cannot be removed stays in the journal; what was never created need not.
            if removed.is_ok() || !folder_rules::is_made(made.folder()) {
                journal.mark_undone(entry)?;
            }
            return Err(folder_error("make", made.folder(), cause));
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
        let path = self.made.folder().join(name);
        let made = DirBuilder::new().mode(0o700).create(&path);
        let given = made.and_then(|()| match self.user {
            Some(user) => lchown(&path, Some(user.uid), Some(user.gid)),
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
        self.made.folder()
    }
}

impl<M: MadeFolder> Drop for ScratchFolder<M> {
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
    use testing::{Need, not_run};

    use super::{FolderMade, MadeFolder, ScratchFolder, folder_rules};

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
        // Whoever owns a folder above can put another in the place of those below it.
        let below = shared.join("below");
        fs::create_dir(&below).unwrap();
        for (folder, why) in [
            ("nowhere", "nowhere"),
            ("shared", "TMPDIR"),
            ("shared/below", "TMPDIR"),
        ] {
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
        let shared = parent.path().join("numalab-postgres-4-0");
        fs::create_dir(&shared).unwrap();
        fs::write(shared.join("numalab.cluster"), "").unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o777)).unwrap();
        let refused = made(&shared).remove().unwrap_err().to_string();
        assert!(refused.contains("mode 777"), "{refused}");
        // A marker that existed before and now also has this name.
        let linked = parent.path().join("numalab-postgres-5-0");
        fs::create_dir(&linked).unwrap();
        let marker = parent.path().join("var-lib/numalab.cluster");
        fs::hard_link(marker, linked.join("numalab.cluster")).unwrap();
        assert!(made(&linked).remove().is_err() && linked.exists());
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
        std::os::unix::fs::symlink(&parent, parent.join("link")).unwrap();
        fs::create_dir(parent.join("numalab-postgres-17-0")).unwrap();
        assert!(is_of_17("numalab-postgres-17-0"));
        assert!(!is_of_17("link/numalab-postgres-17-0"));
    }

    #[test]
    fn the_marker_of_another_user_marks_nothing() {
        if !linux::process::is_root() {
            let test = "the_marker_of_another_user_marks_nothing";
            return not_run(test, Need::Root, "only root gives a file away");
        }
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("numalab-postgres-1-0");
        let marker = directory.join("numalab.cluster");
        fs::create_dir(&directory).unwrap();
        fs::write(&marker, "").unwrap();
        std::os::unix::fs::chown(&marker, Some(65_534), None).unwrap();
        let error = made(&directory).remove().unwrap_err().to_string();
        let expected = "numalab.cluster belongs to user 65534";
        assert!(error.contains(expected), "{error}");
        assert!(marker.exists());
    }

    #[test]
    fn a_folder_in_which_everyone_makes_files_and_nobody_removes_those_of_others_is_safe() {
        let parent = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(parent.path());
        for (mode, is_made) in [(0o700, true), (0o755, true), (0o1777, true), (0o777, false)] {
            let folder = parent.path().join(format!("{mode:o}"));
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            let made = ScratchFolder::create((KIND, "x"), &folder, None, &journal);
            assert_eq!(made.is_ok(), is_made, "{mode:o}");
        }
    }
}
