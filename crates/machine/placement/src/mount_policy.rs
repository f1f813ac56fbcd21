//! The memory policy of a mounted tmpfs (`mpol=`), shown by [`linux::tmpfs`] and set through the
//! journal.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use journal::{
    Change, Error, Journal, Presence, ProcessIdentity, TakeBack, Thing, claim_path, deadline,
};
use linux::Root;
use linux::tmpfs::{self, Tmpfs};
use serde::{Deserialize, Serialize};

/// A policy equivalent to none. The kernel cannot remove the policy of a mounted tmpfs: it treats
/// `mpol=default` as not given (mm/shmem.c, `shmem_reconfigure`).
const AS_GOOD_AS_NONE: &str = "local";

/// Sets the policy of the tmpfs at a mount point: `interleave:0-3`, `bind:0`, `prefer:1`, `local`.
/// Existing files keep theirs. Returns whether anything had to be changed.
///
/// # Errors
/// When the journal cannot be written, another numalab is changing it, or the kernel refuses;
/// nothing is changed then.
pub fn set(journal: &Journal, mount: &Tmpfs, policy: &str) -> Result<bool, Error> {
    let _claim = claim_path(Path::new(&mount.mount_point), deadline())?;
    // Read again under the lock, so that no other process changes it.
    let now = at(&Root::live(), &mount.mount_point)?;
    let mount = now.as_ref().unwrap_or(mount);
    if mount.policy.as_deref() == Some(policy) {
        return Ok(false);
    }
    let entry = MountPolicySet {
        mount_point: mount.mount_point.clone(),
        before: mount.policy.clone(),
        written: policy.to_owned(),
    }
    .record(journal)?;
    if let Err(error) = tmpfs::set_policy(&mount.mount_point, policy) {
        let now = at(&Root::live(), &mount.mount_point);
        let is_as_before = now.is_ok_and(|now| now.is_none_or(|it| it.policy == mount.policy));
        return Err(journal.failed(entry, is_as_before, error.into()));
    }
    Ok(true)
}

/// The tmpfs mounted at a path: the topmost one, where there are several.
///
/// # Errors
/// When /proc/mounts cannot be read.
pub fn at(root: &Root, mount_point: &str) -> Result<Option<Tmpfs>, linux::Error> {
    let mounted = tmpfs::mounted(root)?;
    Ok(mounted
        .into_iter()
        .rev()
        .find(|it| it.mount_point == mount_point))
}

/// The memory policy of a mounted tmpfs was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MountPolicySet {
    /// Where it is mounted.
    mount_point: String,
    /// Its `mpol=` option before; `None`: it had none.
    before: Option<String>,
    /// Its `mpol=` option since.
    written: String,
}

impl Display for MountPolicySet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let before = self.before.as_deref().unwrap_or("none");
        let (mount_point, written) = (&self.mount_point, &self.written);
        write!(
            f,
            "memory policy of {mount_point} set to {written} (was {before})"
        )
    }
}

impl Change for MountPolicySet {
    const KIND: &'static str = "mount-policy-set";

    fn things(&self, _: &Journal, _: u64) -> Result<BTreeSet<Thing>, Error> {
        Ok([Thing::file(&self.mount_point)].into())
    }

    /// It names no file to write: the mount is looked up among the tmpfs mounts, and gets a policy.
    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
        Ok(Presence::There)
    }

    /// Restores the former policy of the mount, unless it is gone or has it already.
    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        let Some(mount) = at(&Root::live(), &self.mount_point)? else {
            return Ok(None);
        };
        let before = self.before.as_deref();
        let former = before.unwrap_or(AS_GOOD_AS_NONE);
        match mount.policy.as_deref() {
            now if now == before || now == Some(former) => {}
            now if how.force || now == Some(&*self.written) => {
                tmpfs::set_policy(&self.mount_point, former)?;
            }
            now => {
                return Err(Error::Undo {
                    change: self.to_string(),
                    reason: format!("another process has set {} since", now.unwrap_or("none")),
                });
            }
        }
        Ok(None)
    }
}
