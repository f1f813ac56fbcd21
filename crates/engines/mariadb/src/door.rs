//! How to connect to a server.

use std::path::PathBuf;

use server::Error;

use crate::client::Client;

/// The socket of a server.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    socket: PathBuf,
}

impl Door {
    /// The door of the server with this socket.
    pub(crate) fn at(socket: PathBuf) -> Self {
        Door { socket }
    }

    /// Connects.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(crate) fn connect(&self) -> Result<Client, Error> {
        Client::connect(&self.socket)
    }
}
