//! Errors of reading the kernel's files.

use std::io;
use std::path::PathBuf;

/// Why a file or directory below the root could not be read or understood.
///
/// The message is a fragment that fits after "cannot read the topology:" and names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused the read.
    #[error("{}: {cause}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's answer.
        cause: io::Error,
    },
    /// A device, pipe or directory is where a kernel file is expected.
    #[error("{}: expected a regular file", path.display())]
    NotAFile {
        /// Where it is.
        path: PathBuf,
    },
    /// A symbolic link leads out of the injected root directory.
    #[error(
        "{}: expected a file below {}, found a symbolic link that leads outside",
        path.display(),
        root.display()
    )]
    OutsideRoot {
        /// The link, as requested.
        path: PathBuf,
        /// The injected root directory.
        root: PathBuf,
    },
    /// A file is longer than any the kernel writes.
    #[error("{}: expected at most {bytes_max} bytes, found more", path.display())]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        bytes_max: u64,
    },
    /// A directory has more entries than any the kernel creates.
    #[error("{}: expected at most {entries_max} entries, found more", path.display())]
    DirectoryTooLarge {
        /// The directory.
        path: PathBuf,
        /// The limit.
        entries_max: usize,
    },
    /// A line of a file is not what the kernel writes there.
    #[error("{}, line {line}: expected {expected}, found {found}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was expected.
        expected: String,
        /// What was found; shortened, and quoted where it is text from the file.
        found: String,
    },
    /// No CPU runs: the root does not contain a machine.
    #[error("{}: expected at least one online CPU, found none", path.display())]
    NoCpu {
        /// Where CPUs are listed.
        path: PathBuf,
    },
    /// There is no memory at all.
    #[error("{}: expected memory, found 0 bytes", path.display())]
    NoMemory {
        /// The file that shows it.
        path: PathBuf,
    },
    /// The name of a directory entry is not one the kernel gives.
    #[error("{}: expected {expected}", path.display())]
    MalformedName {
        /// The entry.
        path: PathBuf,
        /// What was expected.
        expected: String,
    },
}

impl Error {
    /// Returns whether what was to be read is not there, or not any more: `ENOENT`, and `ESRCH`,
    /// which the files of a process that has ended answer (errno(3)).
    pub fn is_gone(&self) -> bool {
        match self {
            Error::Read { cause, .. } => {
                cause.kind() == io::ErrorKind::NotFound || cause.raw_os_error() == Some(libc::ESRCH)
            }
            _ => false,
        }
    }
}
