//! The folders of a throw-away cluster: where its data, its socket, our settings and its log are.

use std::path::PathBuf;

use numa::scratch_cluster::ScratchCluster;

use crate::Error;

/// The folder of the server's socket.
const SOCKET: &str = "socket";
/// Our file of settings, which takes the place of the one that `initdb` writes.
const SETTINGS_FILE: &str = "postgresql.conf";

/// Where things of a cluster are.
#[derive(Debug)]
pub(crate) struct Folders {
    scratch: ScratchCluster,
    /// The data directory.
    pub data: PathBuf,
    /// The folder of the socket.
    pub socket: PathBuf,
}

impl Folders {
    /// Makes those of the server.
    ///
    /// # Errors
    /// When one cannot be made.
    pub(crate) fn make(scratch: ScratchCluster) -> Result<Self, Error> {
        Ok(Folders {
            data: scratch.give_data()?,
            socket: scratch.give(SOCKET)?,
            scratch,
        })
    }

    /// Our file of settings.
    pub(crate) fn settings(&self) -> PathBuf {
        self.scratch.directory().join(SETTINGS_FILE)
    }

    /// What the server says.
    pub(crate) fn log(&self) -> PathBuf {
        self.scratch.directory().join("log")
    }

    /// Removes all of them.
    ///
    /// # Errors
    /// When something cannot be removed; it is in the journal then.
    pub(crate) fn remove(self) -> Result<(), Error> {
        Ok(self.scratch.remove()?)
    }
}
