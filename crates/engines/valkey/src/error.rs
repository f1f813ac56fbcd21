//! Errors of a server or its protocol, in the words of the load.

use model::exit::ExitCode;
use server::Error;

/// The error of something that a server said or did.
pub(crate) fn of_server(message: impl Into<String>) -> Error {
    Error::Database {
        message: message.into(),
        exit_code: ExitCode::WorkloadFailed,
        advice: None,
    }
}

/// The error of a request that this database cannot fulfil.
pub(crate) fn of_request(message: impl Into<String>, advice: &'static str) -> Error {
    Error::Database {
        message: message.into(),
        exit_code: ExitCode::Usage,
        advice: Some(advice),
    }
}

/// The error of a server that refuses this user.
pub(crate) fn not_permitted(message: impl Into<String>, advice: &'static str) -> Error {
    Error::Database {
        message: message.into(),
        exit_code: ExitCode::NotPermitted,
        advice: Some(advice),
    }
}

/// The error of the journal or a folder.
pub(crate) fn of_journal(error: journal::Error) -> Error {
    let exit_code = match error.is_permission() {
        true => ExitCode::NotPermitted,
        false => ExitCode::WorkloadFailed,
    };
    Error::Database {
        message: error.to_string(),
        exit_code,
        advice: None,
    }
}
