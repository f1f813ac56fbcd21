//! The memory policy of a mounted tmpfs (`mpol=`), shown by [`linux::tmpfs`] and set through the
//! journal.

use std::path::Path;

use linux::tmpfs::{self, Tmpfs};
use linux::{Root, SystemCallError};

use crate::journal::{Change, Journal};
use crate::{Error, claim};

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
    let _claim = claim::of_path(Path::new(&mount.mount_point), claim::deadline())?;
    // Read again under the lock, so that no other process changes it.
    let now = at(&Root::live(), &mount.mount_point)?;
    let mount = now.as_ref().unwrap_or(mount);
    if mount.policy.as_deref() == Some(policy) {
        return Ok(false);
    }
    let entry = journal.record(Change::MountPolicySet {
        mount_point: mount.mount_point.clone(),
        before: mount.policy.clone(),
        written: policy.to_owned(),
    })?;
    if let Err(error) = tmpfs::set_policy(&mount.mount_point, policy) {
        journal.mark_undone(entry)?;
        return Err(error.into());
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

/// Restores the former policy of the mount, unless it is gone or has it already.
///
/// # Errors
/// [`Error::Undo`] when another process has set another policy since and `force` is not set.
pub(crate) fn undo(change: &Change, force: bool) -> Result<(), Error> {
    let Change::MountPolicySet {
        mount_point,
        before,
        written,
    } = change
    else {
        return Ok(());
    };
    let Some(mount) = at(&Root::live(), mount_point)? else {
        return Ok(());
    };
    let former = before.as_deref().unwrap_or(AS_GOOD_AS_NONE);
    match mount.policy.as_deref() {
        now if now == before.as_deref() || now == Some(former) => Ok(()),
        now if force || now == Some(written) => set_again(mount_point, former),
        now => Err(Error::Undo {
            change: change.to_string(),
            reason: format!("another process has set {} since", now.unwrap_or("none")),
        }),
    }
}

fn set_again(mount_point: &str, policy: &str) -> Result<(), Error> {
    let refused = |error: SystemCallError| Error::from(error);
    tmpfs::set_policy(mount_point, policy).map_err(refused)
}
