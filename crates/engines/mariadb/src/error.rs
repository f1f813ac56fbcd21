//! Errors of MariaDB, with their exit codes and hints.

use std::io;

use model::exit::ExitCode;

/// `ER_ACCESS_DENIED_ERROR`, `ER_ACCESS_DENIED_NO_PASSWORD_ERROR` (mysqld_error.h).
const ACCESS_DENIED: u16 = 1045;
const ACCESS_DENIED_WITHOUT_PASSWORD: u16 = 1698;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no MariaDB.
    #[error("no MariaDB server was found in {looked}")]
    NotFound {
        /// The places.
        looked: String,
    },
    /// The server is older than the oldest supported version.
    #[error("MariaDB {found} is too old: expected {oldest} or later")]
    TooOld {
        /// Its version.
        found: String,
        /// The oldest supported version.
        oldest: String,
    },
    /// This process is root, and there is no user to run a server as.
    #[error("MariaDB does not run as root, and neither user mysql nor user nobody exists")]
    NoUser,
    /// The server refused a statement or a connection.
    #[error("{what}: {said} (error {code})")]
    Refused {
        /// The operation that failed.
        what: String,
        /// The number of the error in MariaDB.
        code: u16,
        /// Its message, one line.
        said: String,
    },
    /// The server or a program gave an unexpected answer.
    #[error("{what}: expected {expected}, found {found}")]
    Answer {
        /// What was queried.
        what: String,
        /// The expected answer.
        expected: String,
        /// The actual answer.
        found: String,
    },
    /// A connection, file or process failed.
    #[error("{what}: {cause}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The load on a server failed.
    #[error(transparent)]
    Load(#[from] server::Error),
    /// The journal could not be written, or something could not be removed again.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// A file of the kernel could not be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// A system call failed.
    #[error(transparent)]
    SystemCall(#[from] linux::SystemCallError),
}

impl From<observed::Error> for Error {
    fn from(error: observed::Error) -> Self {
        Error::Io {
            what: error.what,
            cause: error.cause,
        }
    }
}

impl Error {
    /// Creates the error of an operation of the operating system.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |cause| Error::Io { what, cause }
    }

    /// Creates the error of an unexpected answer.
    pub(crate) fn answer(
        what: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Error::Answer {
            what: what.into(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// Whether the server did not answer in time.
    pub(crate) fn is_silence(&self) -> bool {
        let (Error::Io { cause, .. } | Error::Load(server::Error::Io { cause, .. })) = self else {
            return false;
        };
        cause.kind() == io::ErrorKind::TimedOut
    }

    /// Returns the exit code for this kind of failure.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::NotFound { .. } | Error::NoUser | Error::TooOld { .. } => {
                ExitCode::MachineCannot
            }
            Error::Refused {
                code: ACCESS_DENIED | ACCESS_DENIED_WITHOUT_PASSWORD,
                ..
            } => ExitCode::NotPermitted,
            Error::Load(error) => error.exit_code(),
            Error::Journal(error) if error.is_permission() => ExitCode::NotPermitted,
            Error::SystemCall(error) if error.is_permission() => ExitCode::NotPermitted,
            _ => ExitCode::WorkloadFailed,
        }
    }

    /// Returns a hint, if there is one.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Error::NotFound { .. } => Some(
                "install it (Debian: apt-get install mariadb-server), or add the directory of \
                 mariadbd to PATH",
            ),
            Error::TooOld { .. } => Some("put the directory of a newer mariadbd first in PATH"),
            Error::NoUser => Some("make a user mysql, or run numalab as any other user"),
            Error::Refused {
                code: ACCESS_DENIED | ACCESS_DENIED_WITHOUT_PASSWORD,
                ..
            } => Some(
                "give a name and password in ~/.my.cnf ([client], user=, password=) or by \
                 MYSQL_PWD, or let the server's own user in by its socket, as an \
                 administrator: CREATE USER mysql@localhost IDENTIFIED VIA unix_socket; GRANT \
                 PROCESS ON *.* TO mysql@localhost;",
            ),
            Error::Load(error) => error.advice(),
            _ => None,
        }
    }
}

impl From<Error> for server::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Load(error) => error,
            error => server::Error::Database {
                message: error.to_string(),
                exit_code: error.exit_code(),
                advice: error.advice(),
            },
        }
    }
}
