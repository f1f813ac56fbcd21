//! Selects the user and role to query a server: peer authentication accepts the owner of its data
//! directory, not root.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use observed::name_of_user;
use server::Error;

/// The user of servers as packages install them.
const USUAL_OWNER: &str = "postgres";

/// The user and role that query a server.
pub(super) struct Asker {
    /// Whether the server may ask for a password: one of any other user could log in elsewhere with
    /// it.
    pub may_have_password: bool,
    /// The user to become for it; `None`: no other user.
    user: Option<(u32, u32)>,
    role: String,
}

/// Returns the user and role to query the server of a data directory.
///
/// # Errors
/// When the directory cannot be read, or its owner has no name.
pub(super) fn asker(data: &Path, role: Option<&str>) -> Result<Asker, Error> {
    let owner = std::fs::metadata(data);
    let owner = owner.map_err(Error::io(format!("looking at {}", data.display())))?;
    let own = linux::process::user();
    let is_usual = name_of_user(owner.uid()).as_deref() == Some(USUAL_OWNER);
    let may_have_password = is_usual || owner.uid() == own;
    let (user, uid) = match linux::process::is_root() {
        true => (Some((owner.uid(), owner.gid())), owner.uid()),
        false => (None, own),
    };
    if let Some(role) = role {
        let role = role.to_owned();
        return Ok(Asker {
            may_have_password,
            user,
            role,
        });
    }
    let role = name_of_user(uid).ok_or_else(|| {
        Error::answer(
            "the role to connect as",
            "a user with a name, or --pg-role",
            format!("user id {uid}, group {}", owner.gid()),
        )
    })?;
    Ok(Asker {
        may_have_password,
        user,
        role,
    })
}

impl Asker {
    /// Runs `work` as that user.
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
