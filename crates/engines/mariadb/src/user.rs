//! The user that programs of MariaDB run as: never root, which mariadbd refuses, too.

use std::process::Command;

use observed::ServerUser;
use server::Error;

use crate::error::no_user;

/// Users to try, in this order.
const NAMES: [&str; 2] = ["mysql", "nobody"];
/// Variables with settings for other servers. With `--no-defaults` no file is read.
const SETTINGS_OF_OTHERS: [&str; 4] = [
    "MYSQL_HOME",
    "MYSQL_TCP_PORT",
    "MYSQL_UNIX_PORT",
    "MARIADB_HOME",
];

/// Returns the user to become; `None` if this process is not root and need not change.
pub(crate) fn server_user() -> Result<Option<ServerUser>, Error> {
    ServerUser::first_of(&NAMES).map_err(|_| no_user())
}

/// Removes the caller's settings for other servers from a command's environment.
pub(crate) fn without_settings_of_others(command: &mut Command) -> &mut Command {
    for name in SETTINGS_OF_OTHERS {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C")
}
