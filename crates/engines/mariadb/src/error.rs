//! Errors of MariaDB in the words of the load, with their exit codes and hints.

use std::io;

use model::exit::ExitCode;
use server::Error;

/// `ER_ACCESS_DENIED_ERROR`, `ER_ACCESS_DENIED_NO_PASSWORD_ERROR` (mysqld_error.h).
const ACCESS_DENIED: [u16; 2] = [1045, 1698];

/// There is no MariaDB in these places.
pub(crate) fn not_found(looked: &str) -> Error {
    let message = format!("no MariaDB server was found in {looked}");
    Error::new(ExitCode::MachineCannot, message).advise(
        "install it (Debian: apt-get install mariadb-server), or add the directory of mariadbd to \
         PATH",
    )
}

/// This process is root, and there is no user to run a server as.
pub(crate) fn no_user() -> Error {
    let message = "MariaDB does not run as root, and neither user mysql nor user nobody exists";
    Error::new(ExitCode::MachineCannot, message)
        .advise("make a user mysql, or run numalab as any other user")
}

/// The server refused a statement or a connection: the number of the error in MariaDB, and its
/// message, one line.
pub(crate) fn refused(what: &str, number: u16, said: &str) -> Error {
    let (exit_code, advice) = match ACCESS_DENIED.contains(&number) {
        true => (
            ExitCode::NotPermitted,
            Some(
                "give a name and password in ~/.my.cnf ([client], user=, password=) or by \
                 MYSQL_PWD, or let the server's own user in by its socket, as an \
                 administrator: CREATE USER mysql@localhost IDENTIFIED VIA unix_socket; GRANT \
                 PROCESS ON *.* TO mysql@localhost;",
            ),
        ),
        false => (ExitCode::WorkloadFailed, None),
    };
    Error::Database {
        message: format!("{what}: {said} (error {number})"),
        exit_code,
        advice,
        code: Some(number.to_string()),
    }
}

/// Whether the server did not answer in time.
pub(crate) fn is_silence(error: &Error) -> bool {
    matches!(error, Error::Io { cause, .. } if cause.kind() == io::ErrorKind::TimedOut)
}
