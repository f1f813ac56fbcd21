//! The user that programs of MariaDB run as: never root, which mariadbd refuses, too.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::User;

use crate::Error;

/// Users to try, in this order.
const NAMES: [&str; 2] = ["mysql", "nobody"];
/// Variables with settings for other servers. With `--no-defaults` no file is read.
const SETTINGS_OF_OTHERS: [&str; 4] = [
    "MYSQL_HOME",
    "MYSQL_TCP_PORT",
    "MYSQL_UNIX_PORT",
    "MARIADB_HOME",
];

/// Returns the user and group to become; `None` if this process is not root and need not change.
pub(crate) fn server_user() -> Result<Option<(u32, u32)>, Error> {
    if !linux::process::is_root() {
        return Ok(None);
    }
    let known = NAMES
        .into_iter()
        .find_map(|name| User::from_name(name).ok()?);
    let user = known.ok_or(Error::NoUser)?;
    Ok(Some((user.uid.as_raw(), user.gid.as_raw())))
}

/// Makes a command run as the server's user, without the groups of root (std, `CommandExt::uid`).
pub(crate) fn set_user(user: Option<(u32, u32)>, command: &mut Command) -> &mut Command {
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
    command
}

/// Removes the caller's settings for other servers from a command's environment.
pub(crate) fn without_settings_of_others(command: &mut Command) -> &mut Command {
    for name in SETTINGS_OF_OTHERS {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C")
}
