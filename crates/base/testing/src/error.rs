//! Errors of captured machines and golden files.

use std::io;
use std::path::PathBuf;

/// Why a captured machine could not be read or unpacked, or a golden file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a read or write.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's answer.
        cause: io::Error,
    },
    /// A line does not conform to the format of its file.
    #[error("line {line}: expected {expected}")]
    Archive {
        /// The line, from 1.
        line: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// A path of a tree could leave the directory to which it is unpacked, or is used twice.
    #[error("{path}: expected {expected}")]
    Path {
        /// The path.
        path: String,
        /// What was expected.
        expected: &'static str,
    },
}
