//! Everything that can go wrong with the store, what to do about it, and the exit code it means.

use std::path::{Path, PathBuf};

use model::exit::ExitCode;
use rusqlite::ErrorCode;

/// Why the store could not do what was asked. Each message fits after "cannot keep the run:".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory of the store is not there and cannot be made.
    #[error("the directory {directory:?} of the store cannot be made: {cause}")]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// What the kernel said.
        cause: std::io::Error,
    },
    /// There is no store to read.
    #[error("there is no store at {path:?}")]
    NotThere {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file can be read at most.
    #[error("the store {path:?} cannot be written: {cause}")]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        cause: String,
    },
    /// The file was written by a newer numalab.
    #[error("the store {path:?} has {what} version {found}, and this numalab knows {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Of what the version is.
        what: &'static str,
        /// Version found.
        found: i64,
        /// Latest version this program knows.
        known: i64,
    },
    /// The file is of an older version and cannot be written, so it cannot be brought up to date.
    #[error(
        "the store {path:?} has schema version {found}, and is read-only: it cannot become {known}"
    )]
    Outdated {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: i64,
        /// Version it would have to become.
        known: i64,
    },
    /// The file is a database of another program.
    #[error("{path:?} is a database of another program")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged, or no database at all.
    #[error("the store {path:?} is damaged: {cause}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// Another process held the store for longer than a transaction takes.
    #[error("the store {path:?} is in use by another process")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// No space is left for the store.
    #[error("no space is left for the store {path:?}")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// SQLite failed in a way that has no variant of its own.
    #[error("the store {path:?} failed: {cause}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        cause: rusqlite::Error,
    },
    /// Something has no stored form that could be read again.
    #[error("{what} cannot be stored: {cause}")]
    NotStorable {
        /// What was to be stored.
        what: &'static str,
        /// Why not.
        cause: String,
    },
    /// A run with this id is stored already.
    #[error("the store {path:?} already has a run {id:?}")]
    IdTaken {
        /// The file.
        path: PathBuf,
        /// The id.
        id: String,
    },
    /// A trial or a status came without the start of its run, or for a case the run has not.
    #[error("{what} came for no run or case that is being recorded")]
    NotRecording {
        /// What came.
        what: &'static str,
    },
    /// No run is stored yet.
    #[error("the store {path:?} holds no run")]
    NoRuns {
        /// The file.
        path: PathBuf,
    },
    /// Runs are stored, but none of them has a trial.
    #[error("no run in the store {path:?} has a trial")]
    NoTrials {
        /// The file.
        path: PathBuf,
    },
    /// No run has this id.
    #[error("no run is called {asked:?}; the nearest are {}", nearest.join(", "))]
    UnknownRun {
        /// What was asked for.
        asked: String,
        /// The ids most like it, best first.
        nearest: Vec<String>,
    },
    /// Several ids start like this.
    #[error("{asked:?} can mean {count} runs: {}", examples.join(", "))]
    AmbiguousRun {
        /// What was asked for.
        asked: String,
        /// How many runs it can mean.
        count: usize,
        /// Some of them, newest first.
        examples: Vec<String>,
    },
}

impl Error {
    /// What can be done about it, as a sentence without its full stop.
    pub fn advice(&self) -> &'static str {
        match self {
            Error::Directory { .. } => "make the directory, or name another file for the store",
            Error::NotThere { .. } | Error::NoRuns { .. } => "make a run first: numalab run",
            Error::NotWritable { .. } => {
                "make the file and its directory writable, or name another file for the store"
            }
            Error::Newer { .. } => {
                "use the numalab that wrote it or a later one, or name another file for the store"
            }
            Error::Outdated { .. } => "copy the file to a place where it can be written",
            Error::Foreign { .. } => "name another file for the store",
            Error::Damaged { .. } => {
                "keep the file, `sqlite3 FILE .recover` may save runs from it, \
                 and name another file for the store"
            }
            Error::Busy { .. } => "wait for the other numalab to end, then try again",
            Error::Full { .. } => "make room, or name a file elsewhere for the store",
            Error::Sqlite { .. } => "name another file for the store",
            Error::NotStorable { .. } | Error::NotRecording { .. } => {
                "this is a defect of numalab, please report it"
            }
            Error::IdTaken { .. } => "start the run again, it then gets another id",
            Error::UnknownRun { .. } => "numalab history lists the runs",
            Error::NoTrials { .. } => {
                "make a run: numalab run; `numalab history` lists those without a trial"
            }
            Error::AmbiguousRun { .. } => "give more of the id",
        }
    }

    /// The exit code of a command that ends with this error.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::UnknownRun { .. }
            | Error::AmbiguousRun { .. }
            | Error::NoRuns { .. }
            | Error::NoTrials { .. }
            | Error::NotThere { .. } => ExitCode::Usage,
            Error::NotStorable { .. } | Error::NotRecording { .. } => ExitCode::Bug,
            _ => ExitCode::Store,
        }
    }

    /// Sorts what SQLite says into the variants that have an advice of their own.
    pub(crate) fn sqlite(path: &Path, cause: rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let text = cause.to_string();
        match cause.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Error::Damaged { path, cause: text }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Error::NotWritable { path, cause: text }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path },
            Some(ErrorCode::DiskFull) => Error::Full { path },
            Some(_) => Error::Sqlite { path, cause },
            // Without a code of SQLite it is a value that has not the type the schema promises.
            None => Error::Damaged { path, cause: text },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_store_names_file_and_both_versions() {
        let error = Error::Newer {
            path: PathBuf::from("/a/store.db"),
            what: "schema",
            found: 7,
            known: 1,
        };
        assert_eq!(
            error.to_string(),
            "the store \"/a/store.db\" has schema version 7, and this numalab knows 1"
        );
        assert_eq!(error.exit_code(), ExitCode::Store);
        assert!(error.advice().contains("later"));
    }

    #[test]
    fn a_path_cannot_disturb_the_terminal() {
        let error = Error::NotThere {
            path: PathBuf::from("/a\u{1b}[2J"),
        };
        assert_eq!(error.to_string(), "there is no store at \"/a\\u{1b}[2J\"");
    }
}
