//! What a change applies to. Two changes of one thing are undone newest first, and no other process
//! may change it in the meantime.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use linux::Root;

use crate::Error;
use crate::claim::{self, Claim};
use crate::journal::{Change, Entry, Journal};
use crate::moving::{self, Owner};

/// One thing, and which aspect of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thing {
    /// A file of the kernel, or a mount point.
    File(PathBuf),
    /// The cgroup that a process is in, by the process's id and start.
    Member(u32, u64),
    /// Where new pages come from.
    Policy(Owner),
    /// Where existing pages are.
    Pages(Owner),
}

/// The things of a change; none if no other change can be of the same, as with a created group.
///
/// # Errors
/// [`Error::Journal`] when the list of moved pages cannot be read.
pub(crate) fn of(journal: &Journal, entry: &Entry) -> Result<BTreeSet<Thing>, Error> {
    let things = match &entry.change {
        Change::FileWritten { path, .. } | Change::PoolResized { path, .. } => {
            [Thing::File(path.clone())].into()
        }
        Change::MountPolicySet { mount_point, .. } => [Thing::File(mount_point.into())].into(),
        Change::MemberMoved {
            pid, start_ticks, ..
        } => [Thing::Member(*pid, *start_ticks)].into(),
        Change::SegmentPolicySet { object, name, .. } => {
            let (id, name) = (*object, name.clone());
            [Thing::Policy(Owner::Object { id, name })].into()
        }
        Change::PagesMoved { .. } => {
            let owners = moving::owners(journal, entry.entry)?;
            owners.into_iter().map(Thing::Pages).collect()
        }
        Change::GroupCreated { .. }
        | Change::ControllerEnabled { .. }
        | Change::ClusterMade { .. }
        | Change::SchemaMade { .. }
        | Change::GroupNamed { .. } => BTreeSet::new(),
    };
    Ok(things)
}

/// What a lock covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    File(PathBuf),
    Memory(Owner),
}

impl Thing {
    /// The lock to hold while it is changed; `None` where the kernel's answer needs no lock.
    pub(crate) fn lock(&self) -> Option<Lock> {
        match self {
            Thing::File(path) => Some(Lock::File(path.clone())),
            Thing::Member(..) => None,
            Thing::Policy(owner) | Thing::Pages(owner) => Some(Lock::Memory(owner.clone())),
        }
    }
}

impl Lock {
    /// Takes it; `None` when what it covers is gone.
    ///
    /// # Errors
    /// [`Error::AtWork`] when another process holds it; another error when it cannot be reached.
    pub(crate) fn take(&self, root: &Root, deadline: Instant) -> Result<Option<Claim>, Error> {
        match self {
            Lock::File(path) => claim::of_path(path, deadline),
            Lock::Memory(owner) => moving::claim_owner(root, owner, deadline),
        }
    }
}
