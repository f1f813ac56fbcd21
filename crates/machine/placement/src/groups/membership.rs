//! A process's membership in groups: joining and leaving them, and CPU limits.

use std::path::{Path, PathBuf};

use journal::{Change, Journal};
use linux::{Root, control_group};

use super::members::directory_of;
use crate::Error;
use crate::group::{GroupCreated, enable_controller, own_word, remove_directory};
use crate::hierarchy::{self, Hierarchy};

/// This process as a member of some groups, until it leaves them.
#[derive(Debug)]
pub struct Joined {
    before: Vec<PathBuf>,
}

impl Joined {
    /// Moves this process back to where it came from. A failure leaves it in the group, whose only
    /// effect is one more member.
    pub fn leave(&self) {
        for directory in &self.before {
            let _ = hierarchy::join(directory);
        }
    }
}

/// Moves this process into a group, in each hierarchy that the group is in.
///
/// # Errors
/// When a group may not be joined, or has no CPUs or memory nodes.
pub fn join(root: &Root, directories: &[PathBuf]) -> Result<Joined, Error> {
    let mut joined = Joined { before: Vec::new() };
    for directory in directories {
        let before = own_directory(root, directory)?;
        hierarchy::join(directory)?;
        joined.before.push(before);
    }
    Ok(joined)
}

/// The cgroup of this process in the hierarchy to which a directory belongs.
fn own_directory(root: &Root, directory: &Path) -> Result<PathBuf, Error> {
    for controller in ["cpuset", "cpu"] {
        let hierarchy = hierarchy::find_controller(root, controller)?;
        if directory.starts_with(&hierarchy.mount) {
            return directory_of(root, std::process::id(), &hierarchy, controller);
        }
    }
    Err(Error::NoGroups {
        reason: format!(
            "{} is in no hierarchy with cpuset or cpu",
            directory.display()
        ),
    })
}

/// A cgroup for one program that limits its CPU time, removed with [`Limit::remove`].
#[derive(Debug)]
pub struct Limit {
    /// Its directory.
    pub directory: PathBuf,
    entry: u64,
    journal: Journal,
}

impl Limit {
    /// Creates a cgroup that is limited to this many CPUs.
    ///
    /// # Errors
    /// When the tree has no `cpu` controller or may not be written.
    pub fn create(root: &Root, journal: &Journal, cpus: f64) -> Result<Self, Error> {
        let hierarchy = hierarchy::find_controller(root, "cpu")?;
        let parent = &hierarchy.parent;
        if let Some(obstacle) = control_group::obstacle(parent) {
            let reason = format!("{} {obstacle}", parent.display());
            return Err(Error::GroupsNotPermitted { reason });
        }
        if hierarchy.version == 2 {
            enable_controller(parent, "cpu", journal)?;
        }
        let directory = parent.join(format!("numalab-bind-{}", own_word()));
        let entry = GroupCreated {
            directory: directory.clone(),
        }
        .record(journal)?;
        let limit = Limit {
            directory,
            entry,
            journal: journal.clone(),
        };
        let made = control_group::create(&limit.directory).map_err(Error::from);
        match made.and_then(|()| crate::cpu_limit::write_limit(&limit.directory, cpus)) {
            Ok(()) => Ok(limit),
            Err(error) => {
                limit.remove()?;
                Err(error)
            }
        }
    }

    /// Removes it; its program must have ended.
    ///
    /// # Errors
    /// When processes remain in it; it is still in the journal then.
    pub fn remove(&self) -> Result<(), Error> {
        remove_directory(&self.directory)?;
        Ok(self.journal.mark_undone(self.entry)?)
    }
}

/// The directory that limits the CPU time of a group whose cpuset is in `hierarchy`; `None` when it
/// is the same directory.
pub(super) fn limit_directory(
    root: &Root,
    hierarchy: &Hierarchy,
    name: &str,
) -> Result<Option<PathBuf>, Error> {
    let of_cpu = hierarchy::find_controller(root, "cpu")?;
    Ok((of_cpu.mount != hierarchy.mount).then(|| of_cpu.parent.join(name)))
}
