//! What can go wrong when memory nodes are read, used or changed.

use std::io;
use std::path::PathBuf;

/// What can go wrong when memory nodes are read, used or changed.
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
    /// No processor group can be made here.
    #[error("no processor group can be made: {reason}")]
    NoGroups {
        /// Why.
        reason: String,
    },
    /// Processor groups could be made, but not by this process.
    #[error("no processor group may be made: {reason}")]
    GroupsNotPermitted {
        /// Why.
        reason: String,
    },
    /// systemd refused.
    #[error(transparent)]
    Systemd(#[from] linux::systemd::SystemdError),
    /// A processor group cannot be made, changed or used as asked.
    #[error("group {name}: {reason}")]
    Group {
        /// Its name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A processor group has not become what was asked for.
    #[error("group {name} was not honoured: {reason}")]
    GroupNotHonoured {
        /// Its name.
        name: String,
        /// In what.
        reason: String,
    },
    /// A line of numa_maps is not what the kernel writes there.
    #[error("numa_maps: expected {expected}, found {found:?}")]
    NumaMaps {
        /// What would have been right.
        expected: &'static str,
        /// What was there.
        found: String,
    },
    /// The journal of changes could not be read or written.
    #[error("journal {}: {cause}", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// What the operating system said, or what is wrong with the file.
        cause: io::Error,
    },
    /// The folder of the journal, or a file in it, cannot be used.
    #[error("cannot use the state folder: {0}")]
    StateFolder(#[from] linux::private_folder::PrivateFolderError),
    /// A folder of ours could not be made or removed.
    #[error("cannot {action} {}: {cause}", path.display())]
    Folder {
        /// What was tried, a verb.
        action: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Another process is changing the same thing.
    #[error("{holder} is at work on {what}")]
    AtWork {
        /// That process.
        holder: String,
        /// What it is changing.
        what: String,
    },
    /// The lock that keeps others from changing the same thing cannot be had.
    #[error("cannot lock {what}: {cause}")]
    Claim {
        /// What is to be changed.
        what: String,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The journal has a line that numalab does not write.
    #[error(
        "numalab changes nothing like {what}, so it did not write what the journal says: {change}"
    )]
    NotOurs {
        /// The change, in words.
        change: String,
        /// What of it.
        what: String,
    },
    /// A change is still in use and cannot be taken back now.
    #[error("cannot undo {change}: {reason}")]
    Undo {
        /// The change, in words.
        change: String,
        /// Why not.
        reason: String,
    },
}

impl Error {
    /// Whether a permission is missing, so that the way without root should be named.
    pub fn is_permission(&self) -> bool {
        match self {
            Error::SystemCall(error) => error.is_permission(),
            Error::ControlGroup(error) => error.is_permission(),
            Error::Systemd(error) => error.is_permission(),
            Error::GroupsNotPermitted { .. } => true,
            Error::Folder { cause, .. } | Error::Claim { cause, .. } => {
                cause.kind() == io::ErrorKind::PermissionDenied
            }
            _ => false,
        }
    }
}
