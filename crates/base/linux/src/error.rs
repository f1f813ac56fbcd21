//! Everything that can go wrong when a file of the kernel is read.

use std::io;
use std::path::PathBuf;

/// Why a file or directory below the root could not be read or understood.
///
/// The message is a fragment that fits after "cannot read the topology:" and names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system did not let us read.
    #[error("{}: {cause}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// A device, pipe or directory stands where a file of the kernel is expected.
    #[error("{}: expected a regular file", path.display())]
    NotAFile {
        /// What stands there.
        path: PathBuf,
    },
    /// A symbolic link leads out of the injected root directory.
    #[error(
        "{}: expected a file below {}, found a link that leads out",
        path.display(),
        root.display()
    )]
    OutsideRoot {
        /// The link, as it was to be read.
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
    /// A directory has more entries than any the kernel makes.
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
        /// What would have been right.
        expected: String,
        /// What was there; shortened, and quoted where it is text of the file.
        found: String,
    },
    /// There is no CPU that runs: what is below the root is no machine.
    #[error("{}: expected at least one CPU that is online, found none", path.display())]
    NoCpu {
        /// Where CPUs are.
        path: PathBuf,
    },
    /// There is no memory at all.
    #[error("{}: expected memory, found 0 bytes", path.display())]
    NoMemory {
        /// The file that says so.
        path: PathBuf,
    },
    /// The name of a directory entry is not one the kernel gives.
    #[error("{}: expected {expected}", path.display())]
    MalformedName {
        /// The entry.
        path: PathBuf,
        /// What would have been right.
        expected: String,
    },
}
