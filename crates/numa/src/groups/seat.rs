//! A process's seat in groups: joining one and going back, and limits of CPU time.

use std::path::{Path, PathBuf};

use linux::{Root, control_group};

use super::members::directory_of;
use crate::group::{enable_controller, remove_directory};
use crate::hierarchy::{self, Hierarchy};
use crate::journal::{Change, Journal};
use crate::{Error, group};

/// The period of a quota. The kernel's own (100 ms; sched-bwc in its documentation).
const PERIOD_US: u64 = 100_000;
/// The least quota that the kernel takes.
const QUOTA_US_MIN: u64 = 1000;

/// This process in some groups, until it leaves them.
#[derive(Debug)]
pub struct Joined {
    before: Vec<PathBuf>,
}

impl Joined {
    /// Goes back to where this process came from. What fails leaves it in the group, which does no
    /// harm but that the group has one more member.
    pub fn leave(&self) {
        for directory in &self.before {
            let _ = group::join(directory);
        }
    }
}

/// Has this process join a group in each hierarchy that the group is in.
///
/// # Errors
/// When a group may not be joined, or has no CPUs or memory nodes.
pub fn join(root: &Root, directories: &[PathBuf]) -> Result<Joined, Error> {
    let mut joined = Joined { before: Vec::new() };
    for directory in directories {
        let before = own_directory(root, directory)?;
        group::join(directory)?;
        joined.before.push(before);
    }
    Ok(joined)
}

/// Where this process is in the hierarchy to which a directory belongs.
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
    /// Makes a cgroup with a limit of so many CPUs.
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
        let directory = parent.join(format!("numalab-bind-{}", std::process::id()));
        let entry = journal.record(Change::GroupCreated {
            directory: directory.clone(),
        })?;
        let limit = Limit {
            directory,
            entry,
            journal: journal.clone(),
        };
        let made = control_group::create(&limit.directory).map_err(Error::from);
        match made.and_then(|()| write_limit(&limit.directory, cpus)) {
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
    /// When processes stay in it; it is still in the journal then.
    pub fn remove(&self) -> Result<(), Error> {
        remove_directory(&self.directory)?;
        self.journal.mark_undone(self.entry)
    }
}

/// The directory that limits the CPU time of a group whose cpuset is in `hierarchy`; `None` when it
/// is the same.
pub(super) fn limit_directory(
    root: &Root,
    hierarchy: &Hierarchy,
    name: &str,
) -> Result<Option<PathBuf>, Error> {
    let of_cpu = hierarchy::find_controller(root, "cpu")?;
    Ok((of_cpu.mount != hierarchy.mount).then(|| of_cpu.parent.join(name)))
}

/// The file that limits CPU time, and what to write there (`cpu.max`, `cpu.cfs_quota_us`).
pub(super) fn limit_file(directory: &Path, cpus: f64) -> (PathBuf, String) {
    let quota_us = ((cpus * PERIOD_US as f64).round() as u64).max(QUOTA_US_MIN);
    let unified = directory.join("cpu.max");
    match unified.exists() {
        true => (unified, format!("{quota_us} {PERIOD_US}")),
        false => (directory.join("cpu.cfs_quota_us"), quota_us.to_string()),
    }
}

/// Limits the CPU time of a cgroup.
pub(super) fn write_limit(directory: &Path, cpus: f64) -> Result<(), Error> {
    let (file, value) = limit_file(directory, cpus);
    Ok(control_group::write(&file, &value)?)
}

/// The limit of CPU time of a cgroup, in CPUs; `None` without one.
pub(super) fn limit_of(directory: &Path) -> Option<f64> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number > 0.0);
    if let Ok(text) = control_group::read(&directory.join("cpu.max")) {
        // `150000 100000`, or `max 100000`
        let (quota, period) = text.split_once(' ')?;
        return Some(number(quota)? / number(period)?);
    }
    let read = |name: &str| control_group::read(&directory.join(name)).ok();
    let quota = number(&read("cpu.cfs_quota_us")?)?;
    Some(quota / number(&read("cpu.cfs_period_us")?)?)
}

#[cfg(test)]
mod tests {
    use super::{limit_file, limit_of};

    #[test]
    fn a_limit_is_read_as_it_was_written() {
        for (file, period, limit, expected) in [
            ("cpu.max", None, 1.5, "150000 100000"),
            ("cpu.max", None, 0.001, "1000 100000"),
            ("cpu.cfs_quota_us", Some("100000\n"), 2.0, "200000"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join(file), "-1\n").unwrap();
            if let Some(period) = period {
                std::fs::write(directory.path().join("cpu.cfs_period_us"), period).unwrap();
            }
            assert_eq!(limit_of(directory.path()), None);
            let (path, value) = limit_file(directory.path(), limit);
            assert_eq!(value, expected);
            std::fs::write(path, value).unwrap();
            let read = limit_of(directory.path()).unwrap();
            assert!((read - limit.max(0.01)).abs() < 1e-9, "{read}");
        }
    }
}
