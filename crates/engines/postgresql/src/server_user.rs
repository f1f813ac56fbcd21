//! The user that a server runs as: PostgreSQL refuses to be root.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::User;

use crate::Error;

/// Users to try, in this order.
const NAMES: [&str; 2] = ["postgres", "nobody"];

/// A user that is not root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerUser {
    pub uid: u32,
    pub gid: u32,
}

/// Has a command run as the server's user, without any group of root (std, `CommandExt::uid`).
pub(crate) fn set_user(user: Option<ServerUser>, command: &mut Command) {
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
}

/// Who to become; `None` when we are not root and need not change.
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
