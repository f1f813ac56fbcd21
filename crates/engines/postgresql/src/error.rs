//! Errors of PostgreSQL servers, with their exit codes and hints.

use std::io;
use std::path::PathBuf;

use model::exit::ExitCode;
use pglogin::words_of;
use postgres::error::SqlState;

/// An error of a PostgreSQL server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No PostgreSQL is installed where numalab searches.
    #[error("no PostgreSQL was found in {}", looked.join(", "))]
    NotFound {
        /// The places searched.
        looked: Vec<String>,
    },
    /// The directory named is not a PostgreSQL bin directory.
    #[error("{} is not a PostgreSQL bin directory: it has no {missing}", bin.display())]
    NotInstalled {
        /// The directory.
        bin: PathBuf,
        /// The missing program.
        missing: &'static str,
    },
    /// A release could not be fetched.
    #[error("cannot download PostgreSQL {version} from Maven Central: {cause}")]
    NotFetched {
        /// The version requested.
        version: String,
        /// What went wrong.
        cause: String,
    },
    /// The server is older than the oldest supported version.
    #[error("PostgreSQL {found} is too old: expected {oldest} or later")]
    TooOld {
        /// Its version.
        found: String,
        /// The oldest supported version.
        oldest: u32,
    },
    /// Other sessions work in the database of a server whose counters cannot tell them apart.
    #[error(
        "other sessions work in this database ({found}), and PostgreSQL {version} counts their \
         reads together with numalab's: no trial would be valid"
    )]
    OthersWork {
        /// Its version.
        version: String,
        /// The most active sessions seen at once, in words.
        found: String,
    },
    /// This process is root, and there is no user to run a server as.
    #[error("PostgreSQL does not run as root, and neither user postgres nor user nobody exists")]
    NoUser,
    /// No accessible database has the extension that reports the content of the buffers.
    #[error(
        "no database of this server that accepts our connection has the extension \
             pg_buffercache"
    )]
    NoBufferCacheExtension {
        /// Whether its files are installed.
        is_available: bool,
    },
    /// numalab was not let in, or could not find out how.
    #[error(transparent)]
    Login(#[from] pglogin::Error),
    /// The server is a standby, in which tables cannot be created.
    #[error("the server is a standby: cannot create tables in it")]
    Standby,
    /// The load cannot read the table named.
    #[error("the table to read: expected {expected}, found {found}")]
    UnfitTable {
        /// What it should have.
        expected: String,
        /// What it has.
        found: String,
    },
    /// A program of PostgreSQL failed.
    #[error("{program} {status}: {said}")]
    Program {
        /// The program.
        program: &'static str,
        /// How it ended.
        status: String,
        /// Its output, one line.
        said: String,
    },
    /// A statement or a connection failed.
    #[error("{what}: {}", words_of(cause))]
    Client {
        /// The operation that failed.
        what: String,
        /// The error of the server or the library.
        cause: postgres::Error,
    },
    /// The server or a program gave an unexpected answer.
    #[error("{what}: expected {expected}, found {found}")]
    Answer {
        /// What was queried.
        what: &'static str,
        /// The expected answer.
        expected: String,
        /// The actual answer.
        found: String,
    },
    /// The load on a server failed.
    #[error(transparent)]
    Load(#[from] server::Error),
    /// A file or process of numalab's failed.
    #[error("{what}: {cause}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// Placing a process or reading evidence back failed.
    #[error(transparent)]
    Placement(#[from] placement::Error),
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

    /// Creates the error of a statement or a connection.
    pub(crate) fn client(what: impl Into<String>) -> impl FnOnce(postgres::Error) -> Self {
        let what = what.into();
        move |cause| Error::Client { what, cause }
    }

    /// Returns the exit code for this kind of failure.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::NotFound { .. }
            | Error::NotFetched { .. }
            | Error::NoUser
            | Error::TooOld { .. }
            | Error::NoBufferCacheExtension { .. } => ExitCode::MachineCannot,
            Error::OthersWork { .. } => ExitCode::NotFit,
            Error::NotInstalled { .. } | Error::Standby | Error::UnfitTable { .. } => {
                ExitCode::Usage
            }
            Error::Login(error) if error.is_usage() => ExitCode::Usage,
            Error::Login(error) if error.advice().is_some() => ExitCode::NotPermitted,
            Error::Load(error) => error.exit_code(),
            Error::Placement(error) if error.is_permission() => ExitCode::NotPermitted,
            Error::Journal(error) if error.is_permission() => ExitCode::NotPermitted,
            Error::SystemCall(error) if error.is_permission() => ExitCode::NotPermitted,
            Error::Client { cause, .. } if is_permission(cause) => ExitCode::NotPermitted,
            _ => ExitCode::WorkloadFailed,
        }
    }

    /// Returns whether a connection was rejected because there is no such database.
    pub(crate) fn is_no_database(&self) -> bool {
        let Error::Client { cause, .. } = self else {
            return false;
        };
        cause.code() == Some(&SqlState::INVALID_CATALOG_NAME)
    }

    /// Returns a hint, if there is one.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Error::NotFound { .. } => Some(
                "install it (Debian: apt-get install postgresql), name its bin directory with \
                 --pg-bin, or download it for this run: --pg-fetch 18",
            ),
            Error::NotFetched { .. } => Some(
                "install PostgreSQL, or download and unpack it elsewhere (see docs/postgres.md) \
                 and name its bin directory with --pg-bin",
            ),
            Error::TooOld { .. } => Some("name the bin directory of a newer version with --pg-bin"),
            Error::OthersWork { .. } => Some(
                "measure when nobody else works in this database, with PostgreSQL 18 or later, or \
                 a copy: numalab run with an experiment of its own server",
            ),
            Error::NotInstalled { .. } => {
                Some("--pg-bin takes the directory that contains initdb and postgres")
            }
            Error::NoBufferCacheExtension { is_available: true } => Some(
                "run as a superuser, in any database: CREATE EXTENSION pg_buffercache; (numalab \
                 creates nothing in a server that it inspects)",
            ),
            Error::NoBufferCacheExtension {
                is_available: false,
            } => Some(
                "install its files (Debian: postgresql-NN, Red Hat: postgresqlNN-contrib), then \
                 run as a superuser: CREATE EXTENSION pg_buffercache;",
            ),
            Error::Login(error) => error.advice(),
            Error::Standby => Some("read an existing table: --table SCHEMA.TABLE"),
            Error::Client { cause, .. } => advice_on(cause),
            Error::Load(error) => error.advice(),
            Error::NoUser => Some("make a user postgres, or run numalab as any other user"),
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

/// What grants a missing privilege.
const GRANT: &str = "as a superuser: GRANT pg_monitor TO the role (PostgreSQL 13 needs a \
                     superuser); for --create, GRANT CREATE ON DATABASE to it; for --table, GRANT \
                     SELECT ON the table";

fn advice_on(error: &postgres::Error) -> Option<&'static str> {
    let is_missing = error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE);
    let grant = is_missing.then_some(GRANT);
    grant.or_else(|| pglogin::Error::advice_on(error))
}

/// Returns whether the error is an insufficient privilege or a rejected login.
fn is_permission(error: &postgres::Error) -> bool {
    advice_on(error).is_some()
}
