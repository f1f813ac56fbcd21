//! The users that programs and servers of others are run and asked as: never root.

use std::os::unix::process::CommandExt;
use std::process::Command;

use linux::{Root, proc_status};
use nix::unistd::{Uid, User};

use crate::Error;

/// A user to run programs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerUser {
    /// The user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

impl ServerUser {
    /// Returns the first of the users with these names; `None` when this process is not root and
    /// need not become another.
    ///
    /// # Errors
    /// With the names, when none of them exists.
    pub fn first_of<'a>(names: &[&'a str]) -> Result<Option<Self>, Vec<&'a str>> {
        if !linux::process::is_root() {
            return Ok(None);
        }
        let known = names.iter().find_map(|name| User::from_name(name).ok()?);
        let user = known.ok_or_else(|| names.to_vec())?;
        Ok(Some(ServerUser {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
        }))
    }

    /// Makes a command run as a user, if there is one to become, without the groups of root (std,
    /// `CommandExt::uid`).
    pub(crate) fn runs(user: Option<Self>, command: &mut Command) -> &mut Command {
        if let Some(user) = user {
            command.uid(user.uid).gid(user.gid);
        }
        command
    }
}

/// Returns the name of a user of this machine.
pub fn name_of_user(uid: u32) -> Option<String> {
    let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    user.map(|user| user.name)
}

/// Runs `work` as the user of process `pid` if this process is root, so that what a server makes
/// root connect to, it could connect to itself. `work` takes the name of the user who asks.
///
/// # Errors
/// The errors of `work`; when the process is gone, or root may not become that user.
pub fn as_user_of<T: Send, E: Send + From<Error> + From<linux::Error>>(
    root: &Root,
    pid: u32,
    work: impl FnOnce(Option<&str>) -> Result<T, E> + Send,
) -> Result<T, E> {
    if !linux::process::is_root() {
        return work(name_of_user(linux::process::user()).as_deref());
    }
    let (uid, gid) = proc_status::user(root, pid)?;
    let name = name_of_user(uid);
    let what = format!("becoming user {uid}, whose server it is");
    linux::process::as_user(uid, gid, || work(name.as_deref())).map_err(Error::of(what))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum TestError {
        #[error(transparent)]
        Observed(#[from] Error),
        #[error(transparent)]
        Read(#[from] linux::Error),
    }

    #[test]
    fn a_server_is_asked_as_its_user() {
        // Without root it is this process's user, whosever the server is.
        let user = ServerUser::first_of(&["no-such-user", "nobody"]).unwrap();
        let expected = user.map_or(linux::process::user(), |user| user.uid);
        assert_ne!(expected, 0);
        let mut server = Command::new("sleep");
        let mut server = ServerUser::runs(user, server.arg("600")).spawn().unwrap();
        let asked: Result<_, TestError> = as_user_of(&Root::live(), server.id(), |name| {
            Ok((name.map(str::to_owned), linux::process::user()))
        });
        server.kill().unwrap();
        server.wait().unwrap();
        let (name, uid) = asked.unwrap();
        assert_eq!(uid, expected);
        if user.is_some() {
            assert_eq!(name.as_deref(), Some("nobody"));
            let none = ServerUser::first_of(&["no-such-user"]);
            assert_eq!(none, Err(vec!["no-such-user"]));
        }
    }
}
