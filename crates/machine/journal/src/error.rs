//! What can go wrong when a machine is changed through the journal.

use std::io;
use std::path::PathBuf;

/// What can go wrong when a machine is changed through the journal, or a change is undone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of /proc or /sys could not be read or understood.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// A system call was refused.
    #[error(transparent)]
    SystemCall(#[from] linux::SystemCallError),
    /// A cgroup file or directory was refused.
    #[error(transparent)]
    ControlGroup(#[from] linux::control_group::ControlGroupError),
    /// systemd refused.
    #[error(transparent)]
    Systemd(#[from] linux::systemd::SystemdError),
    /// The journal of changes could not be read or written.
    #[error("journal {}: {cause}", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// The operating system's error, or what is wrong with the file.
        cause: io::Error,
    },
    /// The folder of the journal, or a file in it, cannot be used.
    #[error("cannot use the state folder: {0}")]
    StateFolder(#[from] linux::private_folder::PrivateFolderError),
    /// One of our directories could not be created or removed.
    #[error("cannot {action} {}: {cause}", path.display())]
    Folder {
        /// The attempted action, a verb.
        action: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// The operating system's error.
        cause: io::Error,
    },
    /// Another process is changing the same thing.
    #[error("{holder} has locked {what}")]
    AtWork {
        /// That process.
        holder: String,
        /// What it is changing.
        what: String,
    },
    /// The lock that keeps other processes from changing the same thing cannot be taken.
    #[error("cannot lock {what}: {cause}")]
    Claim {
        /// What it protects.
        what: String,
        /// The operating system's error.
        cause: io::Error,
    },
    /// A change failed after it may have been made in part.
    #[error("{cause}; what was changed until then is in the journal, as change {entry}")]
    Unfinished {
        /// The number of the change.
        entry: u64,
        /// Why it failed.
        cause: Box<Error>,
    },
    /// The journal has a line that numalab does not write.
    #[error("the journal has an entry that numalab cannot have written ({what}): {change}")]
    NotOurs {
        /// The change, in words.
        change: String,
        /// Which part of it.
        what: String,
    },
    /// The journal has a change of a kind that this program does not know.
    #[error(
        "change {entry} is of kind {kind:?}, which this version of numalab does not support; undo \
         it with the version that made it"
    )]
    Unknown {
        /// The number of the change.
        entry: u64,
        /// Its kind.
        kind: String,
    },
    /// A change is still in use and cannot be undone now.
    #[error("cannot undo {change}: {reason}")]
    Undo {
        /// The change, in words.
        change: String,
        /// Why not.
        reason: String,
    },
}

impl Error {
    /// Whether a permission is missing, so that a way without root should be suggested.
    pub fn is_permission(&self) -> bool {
        match self {
            Error::SystemCall(error) => error.is_permission(),
            Error::ControlGroup(error) => error.is_permission(),
            Error::Systemd(error) => error.is_permission(),
            Error::Unfinished { cause, .. } => cause.is_permission(),
            Error::Folder { cause, .. } | Error::Claim { cause, .. } => {
                cause.kind() == io::ErrorKind::PermissionDenied
            }
            _ => false,
        }
    }
}
