//! What a change is of. Two changes of one thing are taken back newest first, and nobody else may
//! change it meanwhile.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use linux::Root;

use crate::Error;
use crate::claim::{self, Claim};
use crate::journal::{Change, Entry, Journal};
use crate::moving::{self, Owner};

/// One thing, and what of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thing {
    /// A file of the kernel, or the place where a file system is mounted.
    File(PathBuf),
    /// In which cgroup a process is: its id and start.
    Member(u32, u64),
    /// Where pages come from.
    Policy(Owner),
    /// Where pages are.
    Pages(Owner),
}

/// The things of a change; none of one that is the only one of its kind, as a group that was made.
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

/// What is locked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    File(PathBuf),
    Memory(Owner),
}

impl Thing {
    /// What is locked while it is changed; `None` where the kernel's answer needs no lock.
    pub fn lock(&self) -> Option<Lock> {
        match self {
            Thing::File(path) => Some(Lock::File(path.clone())),
            Thing::Member(..) => None,
            Thing::Policy(owner) | Thing::Pages(owner) => Some(Lock::Memory(owner.clone())),
        }
    }
}

impl Lock {
    /// Takes it; `None` when what it is of is gone.
    ///
    /// # Errors
    /// [`Error::AtWork`] when another process has it; else when it cannot be reached.
    pub fn take(&self, root: &Root, deadline: Instant) -> Result<Option<Claim>, Error> {
        match self {
            Lock::File(path) => claim::of_path(path, deadline),
            Lock::Memory(owner) => moving::claim_owner(root, owner, deadline),
        }
    }
}
