//! Errors of the store, the advice for each, and the exit code.

use model::counted;
use std::path::PathBuf;

use model::exit::ExitCode;
use rusqlite::ErrorCode;
use tokio_postgres::error::SqlState;

use crate::place::Place;

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
    #[error("no store at {place}")]
    NotThere {
        /// The store.
        place: Place,
    },
    /// The file can be read but not written.
    #[error("cannot write the store {place}: {cause}")]
    NotWritable {
        /// The store.
        place: Place,
        /// The message of SQLite or of the server.
        cause: String,
    },
    /// The file was written by a newer numalab.
    #[error(
        "the store {place} has {what} version {found}, but this numalab supports up to \
             {known}"
    )]
    Newer {
        /// The store.
        place: Place,
        /// The versioned part: schema or document.
        what: &'static str,
        /// Version found.
        found: i64,
        /// Latest version known to this program.
        known: i64,
    },
    /// The file has an older version and cannot be written, so it cannot be upgraded.
    #[error(
        "the store {place} has schema version {found} and is read-only: cannot upgrade it to \
         {known}"
    )]
    Outdated {
        /// The store.
        place: Place,
        /// Version found.
        found: i64,
        /// The version to upgrade to.
        known: i64,
    },
    /// The file is another program's database.
    #[error("{place} is another program's database")]
    Foreign {
        /// The store.
        place: Place,
    },
    /// The file is damaged, or not a database at all.
    #[error("the store {place} is damaged: {cause}")]
    Damaged {
        /// The store.
        place: Place,
        /// What is wrong with it.
        cause: String,
    },
    /// Another process held the store for longer than a transaction takes.
    #[error("the store {place} is in use by another process")]
    Busy {
        /// The store.
        place: Place,
    },
    /// No space is left for the store.
    #[error("no space is left for the store {place}")]
    Full {
        /// The store.
        place: Place,
    },
    /// Any other SQLite error.
    #[error("the store {place} failed: {cause}")]
    Sqlite {
        /// The store.
        place: Place,
        /// SQLite's error.
        cause: rusqlite::Error,
    },
    /// The server refused a statement.
    #[error("the store {place} failed: {cause}")]
    Server {
        /// The store.
        place: Place,
        /// The server's message.
        cause: String,
    },
    /// The server is away, or does not answer.
    #[error("the store {place} is not reachable: {cause}")]
    Lost {
        /// The store.
        place: Place,
        /// What was seen.
        cause: String,
    },
    /// The server ended while it committed, and could not be asked afterwards.
    #[error("the store {place} may have stored the last change, or not: {cause}")]
    Unknown {
        /// The store.
        place: Place,
        /// Why it could not be asked.
        cause: String,
    },
    /// The server does not let this user in, or its URL is not understood.
    #[error(transparent)]
    Login(#[from] pglogin::Error),
    /// The database cannot hold every text.
    #[error("the store {place} has the encoding {found}, and UTF8 is needed")]
    Encoding {
        /// The store.
        place: Place,
        /// Its encoding.
        found: String,
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
    #[error("the store {place} already has a run {id:?}")]
    IdTaken {
        /// The store.
        place: Place,
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
    #[error("the store {place} has no runs")]
    NoRuns {
        /// The store.
        place: Place,
    },
    /// Runs are stored, but none of them has a trial.
    #[error("no run in the store {place} has trials")]
    NoTrials {
        /// The store.
        place: Place,
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
            Error::NotWritable { place, .. } if place.is_server() => {
                "let the role write: GRANT CREATE ON DATABASE for the first use, GRANT ALL ON ALL \
                 TABLES IN SCHEMA numalab later (docs/store.md)"
            }
            Error::NotWritable { .. } => {
                "make the file and its directory writable, or name another file for the store"
            }
            Error::Newer { .. } => {
                "use the numalab version that wrote it or a later one, or name another store"
            }
            Error::Outdated { place, .. } if place.is_server() => {
                "use it once with a role that may change its tables: numalab push"
            }
            Error::Outdated { .. } => "copy the file to a writable directory",
            Error::Foreign { place } if place.is_server() => {
                "name another database: its schema numalab is not ours"
            }
            Error::Foreign { .. } => "name another file for the store",
            Error::Damaged { place, .. } if place.is_server() => {
                "keep it for examination, and name another database for the store"
            }
            Error::Damaged { .. } => {
                "keep the file (`sqlite3 FILE .recover` may recover runs from it) and name \
                 another file for the store"
            }
            Error::Busy { .. } => "wait for the other numalab to end, then try again",
            Error::Full { .. } => "free space, or name another place for the store",
            Error::Sqlite { .. } => "name another file for the store",
            Error::Server { .. } => "the log of the server says more",
            Error::Lost { .. } => {
                "try again when the server is there; `numalab push` goes on where it stopped"
            }
            Error::Unknown { .. } => "look whether it is there: numalab history",
            Error::Login(error) => error.advice().unwrap_or("see docs/store.md"),
            Error::Encoding { .. } => "create a database: CREATE DATABASE … ENCODING 'UTF8'",
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
            Error::Login(error) if error.is_usage() => ExitCode::Usage,
            Error::Login(error) if error.advice().is_some() => ExitCode::NotPermitted,
            _ => ExitCode::Store,
        }
    }

    /// Maps SQLite errors to the variants that have their own advice.
    pub(crate) fn sqlite(place: &Place, cause: rusqlite::Error) -> Self {
        use rusqlite::ffi::{SQLITE_CONSTRAINT_FOREIGNKEY, SQLITE_CONSTRAINT_UNIQUE};
        let place = place.clone();
        let text = cause.to_string();
        match cause.sqlite_error().map(|error| error.extended_code) {
            Some(SQLITE_CONSTRAINT_UNIQUE) => return Error::taken(place),
            Some(SQLITE_CONSTRAINT_FOREIGNKEY) => return Error::NotRecording { what: "a trial" },
            _ => {}
        }
        match cause.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Error::Damaged { place, cause: text }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Error::NotWritable { place, cause: text }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { place },
            Some(ErrorCode::DiskFull) => Error::Full { place },
            Some(_) => Error::Sqlite { place, cause },
            // Without an SQLite code, it is a value whose type violates the schema.
            None => Error::Damaged { place, cause: text },
        }
    }

    /// Maps the errors of a server to the variants that have their own advice.
    pub(crate) fn server(place: &Place, cause: tokio_postgres::Error) -> Self {
        let (place, text) = (place.clone(), pglogin::words_of(&cause));
        let Some(code) = cause.code() else {
            return match is_connection_lost(&cause) {
                true => Error::Lost { place, cause: text },
                false => Error::Server { place, cause: text },
            };
        };
        match code.code() {
            code if PASSING.contains(&code) || code.starts_with("08") => {
                Error::Lost { place, cause: text }
            }
            _ if *code == SqlState::LOCK_NOT_AVAILABLE => Error::Busy { place },
            _ if *code == SqlState::UNIQUE_VIOLATION => Error::taken(place),
            _ if *code == SqlState::FOREIGN_KEY_VIOLATION => {
                Error::NotRecording { what: "a trial" }
            }
            _ if *code == SqlState::DISK_FULL => Error::Full { place },
            "42501" | "25006" => Error::NotWritable { place, cause: text },
            "42P01" | "42703" | "3F000" => Error::Damaged { place, cause: text },
            _ => Error::Server { place, cause: text },
        }
    }

    /// A server that cannot be reached is not one that refuses.
    pub(crate) fn login(place: &Place, cause: pglogin::Error) -> Self {
        match cause {
            pglogin::Error::Io { what, cause } => Error::Lost {
                place: place.clone(),
                cause: format!("{what}: {cause}"),
            },
            // The library says in words, not in a code, that it lacks a password.
            pglogin::Error::Client { what, cause } if !is_refusal(&cause) => {
                let text = pglogin::words_of(&cause);
                Error::Lost {
                    place: place.clone(),
                    cause: format!("{what}: {text}"),
                }
            }
            other => Error::Login(other),
        }
    }

    /// Whether it may be over when asked again: a server that is away, or many writers before us.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Error::Lost { .. } | Error::Busy { .. })
    }

    /// The id is filled in by who knows it ([`Error::with_id`]).
    fn taken(place: Place) -> Self {
        let id = String::new();
        Error::IdTaken { place, id }
    }

    /// Names the run whose id is taken.
    pub(crate) fn with_id(self, id: &str) -> Self {
        match self {
            Error::IdTaken { place, .. } => Error::IdTaken {
                place,
                id: id.to_owned(),
            },
            other => other,
        }
    }
}

/// Whether a server that is there refuses the login.
fn is_refusal(cause: &tokio_postgres::Error) -> bool {
    match cause.code() {
        Some(code) => !PASSING.contains(&code.code()),
        None => !is_connection_lost(cause),
    }
}

/// Whether the connection ended: before, or while it was spoken on.
fn is_connection_lost(cause: &tokio_postgres::Error) -> bool {
    let first: Option<&dyn std::error::Error> = Some(cause);
    let mut chain = std::iter::successors(first, |error| error.source());
    cause.is_closed() || chain.any(|error| error.is::<std::io::Error>())
}

/// Codes of a server that ends, starts, has too many clients, or made this transaction give way
/// (PostgreSQL manual, "PostgreSQL Error Codes").
const PASSING: [&str; 8] = [
    "57P01", "57P02", "57P03", "57P05", "53300", "40001", "40P01", "25P03",
];

/// The error of a store whose content is not as it was written.
pub(crate) fn damaged(place: &Place, cause: String) -> Error {
    let place = place.clone();
    Error::Damaged { place, cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_store_names_file_and_both_versions() {
        let error = Error::Newer {
            place: Place::File("/a/store.db".into()),
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
            place: Place::File("/a\u{1b}[2J".into()),
        };
        assert_eq!(error.to_string(), "no store at \"/a\\u{1b}[2J\"");
    }
}
