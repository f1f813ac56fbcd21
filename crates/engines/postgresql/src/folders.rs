//! The directories of a throw-away cluster: its data, its socket, its settings and its log.

use std::path::PathBuf;

use server::{Error, ScratchFolder};

use crate::scratch_cluster::ClusterMade;

/// The directory of the server's socket.
const SOCKET: &str = "socket";
/// The settings file, which replaces the one that `initdb` writes.
const SETTINGS_FILE: &str = "postgresql.conf";

/// The paths of a cluster.
#[derive(Debug)]
pub(crate) struct Folders {
    scratch: ScratchFolder<ClusterMade>,
    /// The data directory.
    pub data: PathBuf,
    /// The directory of the socket.
    pub socket: PathBuf,
}

impl Folders {
    /// Creates the directories of the server.
    ///
    /// # Errors
    /// When one cannot be created.
    pub(crate) fn make(scratch: ScratchFolder<ClusterMade>) -> Result<Self, Error> {
        Ok(Folders {
            data: scratch.give_data()?,
            socket: scratch.give(SOCKET)?,
            scratch,
        })
    }

    /// Returns the path of the settings file.
    pub(crate) fn settings(&self) -> PathBuf {
        self.scratch.path().join(SETTINGS_FILE)
    }

    /// Returns the path of the server's log.
    pub(crate) fn log(&self) -> PathBuf {
        self.scratch.path().join("log")
    }
}
