//! Runs programs of PostgreSQL and others: as an unprivileged user, since PostgreSQL refuses to run
//! as root, in a clean environment.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::User;

use crate::Error;

/// Users to try, in this order.
const NAMES: [&str; 2] = ["postgres", "nobody"];

/// An unprivileged user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerUser {
    pub uid: u32,
    pub gid: u32,
}

/// Makes a command run as the server's user, without the groups of root (std, `CommandExt::uid`).
pub(crate) fn set_user(user: Option<ServerUser>, command: &mut Command) {
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
}

/// Returns the user to become; `None` if this process is not root and need not change.
pub(crate) fn server_user() -> Result<Option<ServerUser>, Error> {
    if !linux::process::is_root() {
        return Ok(None);
    }
    let known = NAMES
        .into_iter()
        .find_map(|name| User::from_name(name).ok()?);
    let user = known.ok_or(Error::NoUser)?;
    Ok(Some(ServerUser {
        uid: user.uid.as_raw(),
        gid: user.gid.as_raw(),
    }))
}

/// Removes the user's settings for other servers from a command's environment: PGPORT would set the
/// port of the server it starts (guc.c, `InitializeGUCOptionsFromEnvironment`).
pub(crate) fn without_settings_of_others(command: &mut Command) -> &mut Command {
    for name in ["PGDATA", "PGOPTIONS", "PGPORT", "PGHOST", "PG_COLOR"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C")
}
