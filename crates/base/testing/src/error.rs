//! Everything that can be wrong with a captured machine or a golden file.

use std::io;
use std::path::PathBuf;

/// Why a captured machine could not be read or unpacked, or a golden file not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system did not let us read or write.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// A line of a file is not of the file's format.
    #[error("line {line}: expected {expected}")]
    Archive {
        /// The line, from 1.
        line: usize,
        /// What would have been right.
        expected: &'static str,
    },
    /// A path of a tree could leave the directory it is unpacked to, or is used twice.
    #[error("{path}: expected {expected}")]
    Path {
        /// The path.
        path: String,
        /// What would have been right.
        expected: &'static str,
    },
}
