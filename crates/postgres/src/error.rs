//! What can go wrong with a PostgreSQL server, and which exit code says so.

use std::io;
use std::path::PathBuf;

use model::exit::ExitCode;

/// What can go wrong with a PostgreSQL server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No PostgreSQL is installed where we look.
    #[error("no PostgreSQL was found in {}", looked.join(", "))]
    NotFound {
        /// Where was looked.
        looked: Vec<String>,
    },
    /// The folder named holds no server.
    #[error("{} is no folder of PostgreSQL programs: it has no {missing}", bin.display())]
    NotInstalled {
        /// The folder.
        bin: PathBuf,
        /// The program that is missing.
        missing: &'static str,
    },
    /// The server is older than what its views allow.
    #[error("PostgreSQL {found} is too old: expected {oldest} or later")]
    TooOld {
        /// Its version.
        found: String,
        /// The oldest that will do.
        oldest: u32,
    },
    /// We are root, and there is no user to run a server as.
    #[error("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")]
    NoUser,
    /// A program of PostgreSQL failed.
    #[error("{program} {status}: {said}")]
    Program {
        /// The program.
        program: &'static str,
        /// How it ended.
        status: String,
        /// What it said, one line.
        said: String,
    },
    /// The server ended, or does not answer.
    #[error("the PostgreSQL server {what}: {said}")]
    Server {
        /// What it did.
        what: &'static str,
        /// The end of its log, one line.
        said: String,
    },
    /// A statement or a connection failed.
    #[error("{what}: {}", words_of(cause))]
    Client {
        /// What was tried.
        what: String,
        /// What the server or the library said.
        cause: client::Error,
    },
    /// The server answered something else than it should.
    #[error("{what}: expected {expected}, found {found}")]
    Answer {
        /// What was asked.
        what: &'static str,
        /// What would have been right.
        expected: String,
        /// What came.
        found: String,
    },
    /// A session failed.
    #[error("session {session}: {cause}")]
    Session {
        /// Its number.
        session: u32,
        /// What failed.
        cause: Box<Error>,
    },
    /// Something took longer than it may.
    #[error("{what} took longer than {seconds} s")]
    Late {
        /// What.
        what: &'static str,
        /// The limit.
        seconds: u64,
    },
    /// It was told to stop.
    #[error("cancelled")]
    Cancelled,
    /// A file or process of ours failed.
    #[error("{what}: {cause}")]
    Io {
        /// What was tried.
        what: String,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Placing or reading back failed.
    #[error(transparent)]
    Numa(#[from] numa::Error),
    /// A file of the kernel could not be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// A system call was refused.
    #[error(transparent)]
    SystemCall(#[from] linux::SystemCallError),
}

/// What a server said, or else what the library did; with its hint.
fn words_of(error: &client::Error) -> String {
    let Some(said) = error.as_db_error() else {
        let mut words = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            words = format!("{words}: {error}");
            cause = error.source();
        }
        return words;
    };
    let hint = said.hint().map_or(String::new(), |it| format!(" ({it})"));
    format!("{}{hint}", said.message())
}

impl Error {
    /// The error of an operation of the operating system.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |cause| Error::Io { what, cause }
    }

    /// The error of a statement or a connection.
    pub(crate) fn client(what: impl Into<String>) -> impl FnOnce(client::Error) -> Self {
        let what = what.into();
        move |cause| Error::Client { what, cause }
    }

    /// The exit code that says what kind of failure it is.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::NotFound { .. } | Error::NoUser | Error::TooOld { .. } => {
                ExitCode::MachineCannot
            }
            Error::NotInstalled { .. } => ExitCode::Usage,
            Error::Cancelled => ExitCode::Interrupted,
            Error::Numa(error) if error.is_permission() => ExitCode::NotPermitted,
            Error::SystemCall(error) if error.is_permission() => ExitCode::NotPermitted,
            Error::Client { cause, .. } if is_permission(cause) => ExitCode::NotPermitted,
            _ => ExitCode::WorkloadFailed,
        }
    }

    /// The way out, where there is one.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Error::NotFound { .. } => Some(
                "install one (Debian: apt-get install postgresql), or name the folder of its \
                 programs with --pg-bin",
            ),
            Error::TooOld { .. } => Some("name the programs of a newer one with --pg-bin"),
            Error::NotInstalled { .. } => {
                Some("--pg-bin takes the folder that holds initdb and postgres")
            }
            Error::NoUser => Some("make a user postgres, or run numalab as any other user"),
            _ => None,
        }
    }
}

/// Insufficient privilege, or a refused log-in.
fn is_permission(error: &client::Error) -> bool {
    use client::error::SqlState;
    let refused = [
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_PASSWORD,
    ];
    error.code().is_some_and(|code| refused.contains(code))
}
