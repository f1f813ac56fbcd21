//! Errors of logging in, with hints.

use std::io;
use std::path::PathBuf;

use tokio_postgres::error::SqlState;

/// Why a login failed. No message shows a password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL of a server is invalid. It may hold a password, so the message does not show it.
    #[error("invalid server URL: {}", words_of(cause))]
    Url {
        /// What is wrong with it.
        cause: tokio_postgres::Error,
    },
    /// A file of passwords may be read by others, so that it is not used.
    #[error("the password file {} may be read by others (mode {mode:04o})", path.display())]
    OpenPasswordFile {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The login asks for security that this program does not have.
    #[error("{setting}={value} cannot be met: numalab has no TLS and no GSSAPI")]
    Insecure {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
    },
    /// A setting is not what it should be.
    #[error("{what}: expected {expected}, found {found}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// The expected value.
        expected: String,
        /// The actual value.
        found: String,
    },
    /// The server refused the connection.
    #[error("{what}: {}", words_of(cause))]
    Client {
        /// The operation that failed.
        what: String,
        /// The error of the server or the library.
        cause: tokio_postgres::Error,
    },
    /// A file or socket failed.
    #[error("{what}: {cause}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The error of the operating system.
        cause: io::Error,
    },
}

/// Returns the server's message with its hint, or else the library's.
pub fn words_of(error: &tokio_postgres::Error) -> String {
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

impl From<observed::Error> for Error {
    fn from(error: observed::Error) -> Self {
        Error::Io {
            what: error.what,
            cause: error.cause,
        }
    }
}

const GIVE_PASSWORD: &str = "give the password by PGPASSWORD, or in ~/.pgpass (mode 0600)";
/// What the library says where the server asks for a password and there is none
/// (tokio-postgres, connect_raw.rs).
const NO_PASSWORD: &str = "password missing";

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |cause| Error::Io { what, cause }
    }

    /// Creates the error of a refused connection.
    pub fn client(what: impl Into<String>) -> impl FnOnce(tokio_postgres::Error) -> Self {
        let what = what.into();
        move |cause| Error::Client { what, cause }
    }

    /// The error code of the server, if it said one.
    pub fn code(&self) -> Option<&SqlState> {
        match self {
            Error::Client { cause, .. } => cause.code(),
            _ => None,
        }
    }

    /// Whether the user has to change the settings of the login, not the server its rules.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::Url { .. } | Error::OpenPasswordFile { .. } | Error::Insecure { .. }
        )
    }

    /// Returns a hint, if there is one.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Error::OpenPasswordFile { .. } => {
                Some("let only its owner read it, as libpq requires: chmod 0600 ~/.pgpass")
            }
            Error::Url { .. } => Some("use a URL such as postgresql://ROLE@HOST:PORT/DATABASE"),
            Error::Insecure { .. } => Some(
                "connect by a socket, or through a tunnel (ssh -L, stunnel) that ends on this \
                 machine, and ask for no more than sslmode=prefer",
            ),
            Error::Client { cause, .. } => Self::advice_on(cause),
            Error::Setting { .. } | Error::Io { .. } => None,
        }
    }

    /// Returns what helps against a refused login; `None` for other errors.
    pub fn advice_on(cause: &tokio_postgres::Error) -> Option<&'static str> {
        let code = cause.code();
        let is_password = code == Some(&SqlState::INVALID_PASSWORD);
        if is_password || words_of(cause).ends_with(NO_PASSWORD) {
            return Some(GIVE_PASSWORD);
        }
        let is_refused = code == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        is_refused.then_some(
            "pg_hba.conf rejects this login; name a role that it accepts with --pg-role or in the \
             URL",
        )
    }
}
