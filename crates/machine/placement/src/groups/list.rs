//! The groups that numalab made, as they are now.

use std::path::PathBuf;

use journal::{Change, Journal};
use linux::Root;
use model::{CpuSet, NodeSet};

use super::changes::GroupNamed;
use super::members;
use crate::group::effective;
use crate::{Error, cpu_limit};

/// One group as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its directories: the cpuset first, then that of its CPU limit where that is separate.
    pub directories: Vec<PathBuf>,
    /// Its systemd unit, if it is a slice.
    pub unit: Option<String>,
    /// 1 or 2.
    pub version: u8,
    /// CPUs it may actually use.
    pub cpus: CpuSet,
    /// Nodes it may actually have memory on.
    pub memory_nodes: NodeSet,
    /// CPU limit in CPUs; `None` without a limit.
    pub cpu_limit: Option<f64>,
    /// Its processes, ascending.
    pub members: Vec<u32>,
}

/// Every existing group that the journal knows, in the order they were made.
///
/// # Errors
/// When the journal cannot be read, or has a line that is not a journal entry.
pub fn list(root: &Root, journal: &Journal) -> Result<Vec<Group>, Error> {
    let mut found: Vec<(String, Vec<PathBuf>, Option<String>)> = Vec::new();
    for entry in journal.of_this_boot(root)? {
        let Some(group) = GroupNamed::of(&entry.change) else {
            continue;
        };
        group.must_be_ours()?;
        let GroupNamed {
            name,
            directories,
            unit,
        } = group;
        // A limit that was set later has added a directory.
        match found.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, known, _)) => known.extend(directories),
            None => found.push((name, directories, unit)),
        }
    }
    let exists = |directories: &Vec<PathBuf>| directories.first().is_some_and(|it| it.exists());
    found.retain(|(_, directories, _)| exists(directories));
    found
        .into_iter()
        .map(|(name, directories, unit)| read(name, directories, unit))
        .collect()
}

/// The group of this name.
pub(super) fn find(root: &Root, journal: &Journal, name: &str) -> Result<Option<Group>, Error> {
    let groups = list(root, journal)?;
    Ok(groups.into_iter().find(|group| group.name == name))
}

/// Reads a group.
pub(super) fn read(
    name: String,
    directories: Vec<PathBuf>,
    unit: Option<String>,
) -> Result<Group, Error> {
    let cpuset = directories.first().cloned().unwrap_or_default();
    let version = match cpuset.join("cpuset.cpus.effective").exists() {
        true => 2,
        false => 1,
    };
    Ok(Group {
        version,
        cpus: effective(&cpuset, version, "cpus")?,
        memory_nodes: effective(&cpuset, version, "mems")?,
        cpu_limit: directories
            .iter()
            .find_map(|directory| cpu_limit::limit_of(directory)),
        members: members(&cpuset),
        name,
        directories,
        unit,
    })
}
