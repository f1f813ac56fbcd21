//! The XDG state folder, where runs and the journal are kept.

use std::path::PathBuf;

use linux::private_folder::{PrivateFolder, PrivateFolderError};
use model::exit::ExitCode;

use crate::failure::Failure;

/// The folder with the store and the journal.
#[derive(Debug, Clone)]
pub(crate) struct StateFolder(PathBuf);

impl StateFolder {
    /// Returns `$XDG_STATE_HOME/numalab`, else `$HOME/.local/state/numalab` (XDG Base Directory
    /// Specification 0.8; relative paths are ignored). numalab obeys what is in it, so it refuses a
    /// folder that others may have written to, such as the one that root finds under `sudo -E`.
    pub(crate) fn from_environment() -> Result<Self, Failure> {
        let folder = Self::named_by_environment()?;
        if let Some(found) = PrivateFolder::open(&folder.0).map_err(refused)? {
            found.check_files().map_err(refused)?;
        }
        Ok(folder)
    }

    fn named_by_environment() -> Result<Self, Failure> {
        let absolute = |name: &str| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let home = || Some(absolute("HOME")?.join(".local/state"));
        let state = absolute("XDG_STATE_HOME").or_else(home);
        state
            .map(|path| StateFolder(path.join("numalab")))
            .ok_or_else(|| {
                let message = "no directory to store runs in: neither XDG_STATE_HOME nor HOME is \
                               set";
                Failure::new(ExitCode::Store, message).advise("set XDG_STATE_HOME to a directory")
            })
    }

    /// Returns the folder itself: unnamed data files are created on its file system.
    pub(crate) fn folder(&self) -> PathBuf {
        self.0.clone()
    }

    /// Returns the path of the store of runs.
    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("runs.sqlite")
    }

    /// Returns the journal of changes.
    pub(crate) fn journal(&self) -> journal::Journal {
        journal::Journal::in_directory(&self.0)
    }
}

fn refused(error: PrivateFolderError) -> Failure {
    journal::Error::from(error).into()
}
