//! What the journal knows of a throw-away server's folder, whatever the server is.

use std::path::Path;

use journal::{Change, Error, Presence, ProcessIdentity};
use model::ServerKind;

use crate::folder_rules;

/// The folder of a throw-away server, as a change in the journal.
pub trait MadeFolder: Change + Clone {
    /// The database.
    fn server(&self) -> ServerKind;

    /// The folder.
    fn folder(&self) -> &Path;

    /// Ends the server that works in the folder, if one does.
    ///
    /// # Errors
    /// Why it does not end.
    fn end_server(&self) -> Result<(), String>;

    /// Whether it is there, if a process made it.
    fn presence_of(&self, made_by: &ProcessIdentity) -> Presence {
        let is_ours = folder_rules::is_name_of(self.server(), self.folder(), made_by.pid);
        Presence::there_if(is_ours, self.folder().display())
    }

    /// Ends the server of the folder and removes it. A missing one is not an error.
    ///
    /// # Errors
    /// [`Error::Undo`] when it is not numalab's, or its server does not end.
    fn remove(&self) -> Result<(), Error> {
        if !self.folder().exists() {
            return Ok(());
        }
        let refused = |reason: String| Error::Undo {
            change: self.to_string(),
            reason,
        };
        folder_rules::require_ours(self.server(), self.folder()).map_err(refused)?;
        self.end_server().map_err(refused)?;
        folder_rules::remove(self.folder())
    }
}
