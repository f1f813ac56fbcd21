//! Errors of the load on a server, with their exit codes and hints.

use std::io;

use model::ServerKind;
use model::exit::ExitCode;

/// An error of the load on a server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database's own error.
    #[error("{message}")]
    Database {
        /// What failed and how.
        message: String,
        /// The exit code for this kind of failure.
        exit_code: ExitCode,
        /// A hint.
        advice: Option<&'static str>,
        /// The server's own code, if it refused something.
        code: Option<String>,
    },
    /// The server ended, or does not respond.
    #[error("the {} server {what}: {said}", kind.name())]
    Server {
        /// The database.
        kind: ServerKind,
        /// What happened.
        what: &'static str,
        /// The end of its log, one line.
        said: String,
    },
    /// The server or a process gave an unexpected answer.
    #[error("{what}: expected {expected}, found {found}")]
    Answer {
        /// What was queried.
        what: String,
        /// The expected answer.
        expected: String,
        /// The actual answer.
        found: String,
    },
    /// A session failed.
    #[error("session {session}: {cause}")]
    Session {
        /// Its number.
        session: u32,
        /// The error.
        cause: Box<Error>,
    },
    /// A time limit was exceeded.
    #[error("{what} took longer than {seconds} s")]
    Late {
        /// The operation.
        what: &'static str,
        /// The limit.
        seconds: u64,
    },
    /// The operation was cancelled.
    #[error("cancelled")]
    Cancelled,
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
    /// Creates a database's own error, without a hint.
    pub fn new(exit_code: ExitCode, message: impl Into<String>) -> Self {
        Error::Database {
            message: message.into(),
            exit_code,
            advice: None,
            code: None,
        }
    }

    /// Creates the error of something that a server said or did.
    pub fn failed(message: impl Into<String>) -> Self {
        Error::new(ExitCode::WorkloadFailed, message)
    }

    /// The same with a hint. Only a database's own error has one.
    #[must_use]
    pub fn advise(mut self, hint: &'static str) -> Self {
        if let Error::Database { advice, .. } = &mut self {
            *advice = Some(hint);
        }
        self
    }

    /// Creates the error of an unexpected answer.
    pub fn answer(
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

    /// The server's own code, if it refused something.
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Database { code, .. } => code.as_deref(),
            _ => None,
        }
    }

    /// Creates the error of an operation of the operating system.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |cause| Error::Io { what, cause }
    }

    /// Returns the exit code for this kind of failure.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::Database { exit_code, .. } => *exit_code,
            Error::Cancelled => ExitCode::Interrupted,
            Error::Placement(error) if error.is_permission() => ExitCode::NotPermitted,
            Error::Journal(error) if error.is_permission() => ExitCode::NotPermitted,
            Error::SystemCall(error) if error.is_permission() => ExitCode::NotPermitted,
            _ => ExitCode::WorkloadFailed,
        }
    }

    /// Returns a hint, if there is one.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Error::Database { advice, .. } => *advice,
            _ => None,
        }
    }
}
