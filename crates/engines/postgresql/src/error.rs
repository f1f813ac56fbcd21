//! Errors of PostgreSQL in the words of the load, with their exit codes and hints.

use std::path::Path;

use model::exit::ExitCode;
use pglogin::words_of;
use postgres::error::SqlState;
use server::Error;

/// What grants a missing privilege.
const GRANT: &str = "as a superuser: GRANT pg_monitor TO the role (PostgreSQL 13 needs a \
                     superuser); for --create, GRANT CREATE ON DATABASE to it; for --table, GRANT \
                     SELECT ON the table";

/// Creates the error of a statement or a connection.
pub(crate) fn client(what: impl Into<String>) -> impl FnOnce(postgres::Error) -> Error {
    let what = what.into();
    move |cause| {
        let is_missing = cause.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE);
        let grant = is_missing.then_some(GRANT);
        let advice = grant.or_else(|| pglogin::Error::advice_on(&cause));
        Error::Database {
            message: format!("{what}: {}", words_of(&cause)),
            exit_code: match advice {
                Some(_) => ExitCode::NotPermitted,
                None => ExitCode::WorkloadFailed,
            },
            advice,
            code: cause.code().map(|code| code.code().to_owned()),
        }
    }
}

/// numalab was not let in, or could not find out how.
pub(crate) fn login(error: pglogin::Error) -> Error {
    let advice = error.advice();
    Error::Database {
        exit_code: match advice {
            _ if error.is_usage() => ExitCode::Usage,
            Some(_) => ExitCode::NotPermitted,
            None => ExitCode::WorkloadFailed,
        },
        advice,
        message: error.to_string(),
        code: error.code().map(|code| code.code().to_owned()),
    }
}

/// No PostgreSQL is installed where numalab searches.
pub(crate) fn not_found(looked: &[&str]) -> Error {
    let message = format!("no PostgreSQL was found in {}", looked.join(", "));
    Error::new(ExitCode::MachineCannot, message).advise(
        "install it (Debian: apt-get install postgresql), name its bin directory with --pg-bin, or \
         download it for this run: --pg-fetch 18",
    )
}

/// The directory named is not a PostgreSQL bin directory.
pub(crate) fn not_installed(bin: &Path, missing: &str) -> Error {
    let bin = bin.display();
    let message = format!("{bin} is not a PostgreSQL bin directory: it has no {missing}");
    Error::new(ExitCode::Usage, message)
        .advise("--pg-bin takes the directory that contains initdb and postgres")
}

/// The load cannot read the table named.
pub(crate) fn unfit_table(expected: &str, found: &str) -> Error {
    let message = format!("the table to read: expected {expected}, found {found}");
    Error::new(ExitCode::Usage, message)
}
