//! Who asks a server: peer authentication lets the owner of its data directory in, and root is not
//! that.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Gid, Uid, User};

use crate::Error;

/// Who asks, and as which role.
pub(super) struct Asker {
    /// The user to become for it; `None`: nobody else.
    user: Option<(u32, u32)>,
    role: String,
}

/// Who asks the server of a data directory.
///
/// # Errors
/// When the directory cannot be looked at, or its owner has no name.
pub(super) fn asker(data: &Path, role: Option<&str>) -> Result<Asker, Error> {
    let owner = std::fs::metadata(data);
    let owner = owner.map_err(Error::io(format!("looking at {}", data.display())))?;
    let own = Uid::effective();
    let (user, uid) = match own.is_root() {
        true => (Some((owner.uid(), owner.gid())), Uid::from_raw(owner.uid())),
        false => (None, own),
    };
    if let Some(role) = role {
        let role = role.to_owned();
        return Ok(Asker { user, role });
    }
    let known = User::from_uid(uid).ok().flatten();
    let role = known.map(|user| user.name).ok_or_else(|| Error::Answer {
        what: "the role to connect as",
        expected: "a user with a name, or --pg-role".to_owned(),
        found: format!("user id {uid}, group {}", Gid::from_raw(owner.gid())),
    })?;
    Ok(Asker { user, role })
}

impl Asker {
    /// Does what is given as that user.
    ///
    /// # Errors
    /// When root may not become another user.
    pub(super) fn ask<T: Send>(&self, work: impl FnOnce(&str) -> T + Send) -> Result<T, Error> {
        match self.user {
            Some((uid, gid)) => linux::process::as_user(uid, gid, || work(&self.role))
                .map_err(Error::io(format!("becoming user {uid}"))),
            None => Ok(work(&self.role)),
        }
    }
}
