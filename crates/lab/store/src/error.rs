//! Errors of the store, the advice for each, and the exit code.

use model::counted;
use std::path::{Path, PathBuf};

use model::exit::ExitCode;
use rusqlite::ErrorCode;

/// Why the store failed. Each message fits after "cannot keep the run:".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory of the store does not exist and cannot be created.
    #[error("cannot create the store directory {directory:?}: {cause}")]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The kernel's answer.
        cause: std::io::Error,
    },
    /// There is no store to read.
    #[error("no store at {path:?}")]
    NotThere {
        /// The path of the store.
        path: PathBuf,
    },
    /// The file can be read but not written.
    #[error("cannot write the store {path:?}: {cause}")]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        cause: String,
    },
    /// The file was written by a newer numalab.
    #[error(
        "the store {path:?} has {what} version {found}, but this numalab supports up to \
             {known}"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The versioned part: schema or document.
        what: &'static str,
        /// Version found.
        found: i64,
        /// Latest version known to this program.
        known: i64,
    },
    /// The file has an older version and cannot be written, so it cannot be upgraded.
    #[error(
        "the store {path:?} has schema version {found} and is read-only: cannot upgrade it to \
         {known}"
    )]
    Outdated {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: i64,
        /// The version to upgrade to.
        known: i64,
    },
    /// The file is another program's database.
    #[error("{path:?} is another program's database")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged, or not a database at all.
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
    /// Any other SQLite error.
    #[error("the store {path:?} failed: {cause}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        cause: rusqlite::Error,
    },
    /// A value has no stored form that could be read back.
    #[error("cannot store {what}: {cause}")]
    NotStorable {
        /// The value to store.
        what: &'static str,
        /// The reason.
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
    /// A trial or a status arrived without the start of its run, or for a case that the run lacks.
    #[error("{what} came for no run or case that is being recorded")]
    NotRecording {
        /// What arrived.
        what: &'static str,
    },
    /// No run is stored yet.
    #[error("the store {path:?} has no runs")]
    NoRuns {
        /// The file.
        path: PathBuf,
    },
    /// Runs are stored, but none of them has a trial.
    #[error("no run in the store {path:?} has trials")]
    NoTrials {
        /// The file.
        path: PathBuf,
    },
    /// No run has this id.
    #[error("no run {asked:?}; the nearest are {}", nearest.join(", "))]
    UnknownRun {
        /// The id requested.
        asked: String,
        /// The most similar ids, best first.
        nearest: Vec<String>,
    },
    /// The run has live windows, and no cases.
    #[error("{id} is a run of live windows ({title}), not of an experiment")]
    IsLive {
        /// Its id.
        id: String,
        /// The command that made it, with its target.
        title: String,
    },
    /// Several ids start with this text.
    #[error("{asked:?} matches {}: {}", counted(count, "run"), examples.join(", "))]
    AmbiguousRun {
        /// The id requested.
        asked: String,
        /// Number of matching runs.
        count: usize,
        /// Some of them, newest first.
        examples: Vec<String>,
    },
}

impl Error {
    /// What the user can do about it, as a sentence without its full stop.
    pub fn advice(&self) -> &'static str {
        match self {
            Error::Directory { .. } => "create the directory, or name another file for the store",
            Error::NotThere { .. } | Error::NoRuns { .. } => "run an experiment first: numalab run",
            Error::NotWritable { .. } => {
                "make the file and its directory writable, or name another file for the store"
            }
            Error::Newer { .. } => {
                "use the numalab version that wrote it or a later one, or name another file for \
                 the store"
            }
            Error::Outdated { .. } => "copy the file to a writable directory",
            Error::Foreign { .. } => "name another file for the store",
            Error::Damaged { .. } => {
                "keep the file (`sqlite3 FILE .recover` may recover runs from it) and name \
                 another file for the store"
            }
            Error::Busy { .. } => "wait for the other numalab to end, then try again",
            Error::Full { .. } => "free space, or name a file elsewhere for the store",
            Error::Sqlite { .. } => "name another file for the store",
            Error::NotStorable { .. } | Error::NotRecording { .. } => {
                "this is a bug in numalab, please report it"
            }
            Error::IdTaken { .. } => "start the run again to get another id",
            Error::UnknownRun { .. } => "list the runs: numalab history",
            Error::NoTrials { .. } => {
                "run an experiment: numalab run; `numalab history` lists runs without trials"
            }
            Error::IsLive { .. } => {
                "`numalab show` shows it, `numalab compare` compares two records"
            }
            Error::AmbiguousRun { .. } => "give more characters of the id",
        }
    }

    /// The exit code of a command that ends with this error.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::UnknownRun { .. }
            | Error::AmbiguousRun { .. }
            | Error::IsLive { .. }
            | Error::NoRuns { .. }
            | Error::NoTrials { .. }
            | Error::NotThere { .. } => ExitCode::Usage,
            Error::NotStorable { .. } | Error::NotRecording { .. } => ExitCode::Bug,
            _ => ExitCode::Store,
        }
    }

    /// Maps SQLite errors to the variants that have their own advice.
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
            // Without an SQLite code, it is a value whose type violates the schema.
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
            "the store \"/a/store.db\" has schema version 7, but this numalab supports up to 1"
        );
        assert_eq!(error.exit_code(), ExitCode::Store);
        assert!(error.advice().contains("later"));
    }

    #[test]
    fn a_path_cannot_disturb_the_terminal() {
        let error = Error::NotThere {
            path: PathBuf::from("/a\u{1b}[2J"),
        };
        assert_eq!(error.to_string(), "no store at \"/a\\u{1b}[2J\"");
    }
}
