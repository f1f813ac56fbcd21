//! Where runs and the journal are kept: the XDG state folder.

use std::path::PathBuf;

use linux::private_folder::{PrivateFolder, PrivateFolderError};
use model::exit::ExitCode;

use crate::failure::Failure;

/// The folder with the store and the journal.
#[derive(Debug, Clone)]
pub(crate) struct StateFolder(PathBuf);

impl StateFolder {
    /// `$XDG_STATE_HOME/numalab`, else `$HOME/.local/state/numalab` (XDG Base Directory
    /// Specification 0.8; a relative path in the variable is to be ignored). What is in it is
    /// obeyed, so one that others may have written is refused, as root finds under
    /// `sudo -E`.
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
                let message = "no folder to keep runs in: neither XDG_STATE_HOME nor HOME is set";
                Failure::new(ExitCode::Store, message).advise("set XDG_STATE_HOME to a folder")
            })
    }

    /// The folder itself: data files without names are made on its file system.
    pub(crate) fn folder(&self) -> PathBuf {
        self.0.clone()
    }

    /// The store of runs.
    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("runs.sqlite")
    }

    /// The journal of changes.
    pub(crate) fn journal(&self) -> numa::journal::Journal {
        numa::journal::Journal::in_directory(&self.0)
    }
}

fn refused(error: PrivateFolderError) -> Failure {
    numa::Error::from(error).into()
}
