//! What a change applies to. Two changes of one thing are undone newest first, and no other process
//! may change it in the meantime. Only files and directories of the kernel are written by their
//! paths.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use linux::Root;
use linux::kernel_place::{self, KernelPlace};

use crate::Error;
use crate::claim::{self, Claim};

/// One thing, and which aspect of it. Two with the same name are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thing {
    name: String,
    lock: Option<Lock>,
}

impl Thing {
    /// A file of the kernel, or a mount point, under the lock of that file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Thing {
            name: format!("file {}", path.display()),
            lock: Some(Lock::of_path(path)),
        }
    }

    /// Something under a lock.
    pub fn locked(name: String, lock: Lock) -> Self {
        let lock = Some(lock);
        Thing { name, lock }
    }

    /// Something that needs no lock, since the kernel's answer tells who was first.
    pub fn unlocked(name: String) -> Self {
        Thing { name, lock: None }
    }

    /// The lock to hold while it is changed.
    pub(crate) fn lock(&self) -> Option<&Lock> {
        self.lock.as_ref()
    }
}

/// Takes a lock; `None` when what it covers is gone.
type TakeLock = dyn Fn(&Root, Instant) -> Result<Option<Claim>, Error>;

/// A lock, and how it is taken. Two with the same name are the same.
#[derive(Clone)]
pub struct Lock {
    name: String,
    take: Arc<TakeLock>,
}

impl Lock {
    /// A lock that `take` takes, given a deadline; `None` when what it covers is gone. Several
    /// locks are taken in the order of their names, so that of two processes that want the same
    /// locks one gets all.
    pub fn new(
        name: String,
        take: impl Fn(&Root, Instant) -> Result<Option<Claim>, Error> + 'static,
    ) -> Self {
        let take = Arc::new(take);
        Lock { name, take }
    }

    /// The lock of a file or directory.
    fn of_path(path: PathBuf) -> Self {
        let name = format!("file {}", path.display());
        Lock::new(name, move |_, deadline| {
            claim::claim_path(Path::new(&path), deadline)
        })
    }

    /// Takes it; `None` when what it covers is gone.
    ///
    /// # Errors
    /// [`Error::AtWork`] when another process holds it; another error when it cannot be reached.
    pub(crate) fn take(&self, root: &Root, deadline: Instant) -> Result<Option<Claim>, Error> {
        (self.take)(root, deadline)
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lock").field(&self.name).finish()
    }
}

impl Ord for Lock {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl PartialOrd for Lock {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Lock {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Lock {}

/// The file system that a path leads into.
///
/// # Errors
/// When it cannot be looked at.
pub fn kernel_place(path: &Path) -> Result<KernelPlace, Error> {
    kernel_place::of(path).map_err(|cause| Error::Folder {
        action: "look at",
        path: path.to_owned(),
        cause,
    })
}

/// Whether a directory is a cgroup, or may have been one before it was removed or unmounted.
///
/// # Errors
/// As [`kernel_place()`].
pub fn is_cgroup(directory: &Path) -> Result<bool, Error> {
    let above = || {
        let parent = directory.parent();
        parent.map_or(Ok(KernelPlace::Gone), kernel_place)
    };
    Ok(match kernel_place(directory)? {
        KernelPlace::ControlGroup => true,
        KernelPlace::Gone => above()? != KernelPlace::Elsewhere,
        KernelPlace::Sysfs | KernelPlace::Elsewhere => false,
    })
}
