//! Creates a named processor group.

use std::path::PathBuf;

use journal::{Change, Journal};
use linux::{Root, control_group, systemd};
use model::{CpuSet, NodeSet};

use super::changes::GroupNamed;
use super::list::{self, Group};
use super::{GroupName, membership};
use crate::group::{effective_text, enable_controller};
use crate::hierarchy::{self, Hierarchy};
use crate::{Error, cpu_limit, group};

/// A group as requested.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Its name.
    pub name: GroupName,
    /// Its CPUs; `None` for those of its parent.
    pub cpus: Option<CpuSet>,
    /// Its memory nodes; `None` for those of its parent.
    pub memory_nodes: Option<NodeSet>,
    /// CPU time, in CPUs.
    pub cpu_limit: Option<f64>,
}

/// Creates a group and reads it back.
///
/// # Errors
/// When a group of this name exists, the tree may not be written, or the kernel did not do what was
/// requested; nothing is left behind then.
pub fn create(root: &Root, journal: &Journal, order: &Order) -> Result<Group, Error> {
    let name = order.name.as_str();
    let refused = |reason: String| Error::Group {
        name: name.to_owned(),
        reason,
    };
    if list::find(root, journal, name)?.is_some() {
        return Err(refused(
            "it already exists; change it with `numalab group set`".to_owned(),
        ));
    }
    let any = hierarchy::find_controller(root, "cpuset")?;
    let directories = match any.belongs_to_systemd(root) {
        true => create_slice(journal, order, &any)?,
        false => {
            let hierarchy = hierarchy::find(root)?;
            let directories = directories(root, order, &hierarchy)?;
            if let Some(existing) = directories.iter().find(|directory| directory.exists()) {
                let path = existing.display();
                return Err(refused(format!(
                    "{path} exists, and numalab did not create it"
                )));
            }
            create_directories(journal, order, &hierarchy, directories)?
        }
    };
    let made = list::find(root, journal, name)?.ok_or_else(|| refused("it is gone".to_owned()))?;
    match honoured(order, &made) {
        Ok(()) => Ok(made),
        Err(error) => {
            remove(journal, name, &directories)?;
            Err(error)
        }
    }
}

/// The directories of a group: in the cpuset hierarchy, and with a limit in that of `cpu`.
fn directories(root: &Root, order: &Order, hierarchy: &Hierarchy) -> Result<Vec<PathBuf>, Error> {
    let mut directories = vec![hierarchy.parent.join(order.name.as_str())];
    if order.cpu_limit.is_some() {
        directories.extend(membership::limit_directory(
            root,
            hierarchy,
            order.name.as_str(),
        )?);
    }
    Ok(directories)
}

fn create_directories(
    journal: &Journal,
    order: &Order,
    hierarchy: &Hierarchy,
    directories: Vec<PathBuf>,
) -> Result<Vec<PathBuf>, Error> {
    if hierarchy.version == 2 {
        enable_controller(&hierarchy.parent, "cpuset", journal)?;
        if order.cpu_limit.is_some() {
            enable_controller(&hierarchy.parent, "cpu", journal)?;
        }
    }
    let name = order.name.to_string();
    GroupNamed {
        name: name.clone(),
        directories: directories.clone(),
        unit: None,
    }
    .record(journal)?;
    let fill = || -> Result<(), Error> {
        for directory in &directories {
            control_group::create(directory)?;
        }
        let group = &directories[0];
        // Version 1 gives a new group neither CPUs nor memory; version 2 gives it its parent's.
        let of_parent = |kind| match hierarchy.version {
            1 => effective_text(&hierarchy.parent, 1, kind).map(Some),
            _ => Ok(None),
        };
        let nodes = order.memory_nodes.as_ref().map(NodeSet::to_string);
        let cpus = order.cpus.as_ref().map(CpuSet::to_string);
        for (file, value) in [
            (
                "cpuset.mems",
                nodes.map_or_else(|| of_parent("mems"), |it| Ok(Some(it)))?,
            ),
            (
                "cpuset.cpus",
                cpus.map_or_else(|| of_parent("cpus"), |it| Ok(Some(it)))?,
            ),
        ] {
            if let Some(value) = value {
                control_group::write(&group.join(file), &value)?;
            }
        }
        match order.cpu_limit {
            Some(limit) => cpu_limit::write_limit(directories.last().unwrap_or(group), limit),
            None => Ok(()),
        }
    };
    if let Err(error) = fill() {
        remove(journal, &name, &directories)?;
        return Err(error);
    }
    Ok(directories)
}

/// Has systemd create the group as a slice.
fn create_slice(
    journal: &Journal,
    order: &Order,
    hierarchy: &Hierarchy,
) -> Result<Vec<PathBuf>, Error> {
    let unit = systemd::slice_of(order.name.as_str());
    let directory = hierarchy.directory(&format!("/{}/{unit}", systemd::SLICE_OF_GROUPS));
    GroupNamed {
        name: order.name.to_string(),
        directories: vec![directory.clone()],
        unit: Some(unit.clone()),
    }
    .record(journal)?;
    let made =
        systemd::set_properties(&unit, &properties(order)).and_then(|()| systemd::start(&unit));
    if let Err(error) = made {
        remove(journal, order.name.as_str(), &[])?;
        return Err(error.into());
    }
    Ok(vec![directory])
}

/// The properties of a slice (systemd.resource-control(5)).
pub(super) fn properties(order: &Order) -> Vec<String> {
    let given = [
        order
            .cpus
            .as_ref()
            .map(|cpus| format!("AllowedCPUs={cpus}")),
        order
            .memory_nodes
            .as_ref()
            .map(|nodes| format!("AllowedMemoryNodes={nodes}")),
        order
            .cpu_limit
            .map(|limit| format!("CPUQuota={}%", limit * 100.0)),
    ];
    let mut given: Vec<_> = given.into_iter().flatten().collect();
    if given.is_empty() {
        // At least one property must be set for the unit to exist.
        given.push("CPUAccounting=yes".to_owned());
    }
    given
}

/// Undoes what a failed create has left.
fn remove(journal: &Journal, name: &str, directories: &[PathBuf]) -> Result<(), Error> {
    for directory in directories.iter().rev() {
        group::remove_directory(directory)?;
    }
    for entry in journal.of_this_boot(&Root::live())? {
        let group = GroupNamed::of(&entry.change);
        if let Some(group) = group.filter(|group| group.name == name) {
            group.must_be_ours()?;
            if let Some(unit) = &group.unit {
                let cgroup = group.directories.first().map(PathBuf::as_path);
                systemd::remove_slice(unit, cgroup)?;
            }
            journal.mark_undone(entry.entry)?;
        }
    }
    Ok(())
}

/// Verifies that a group that was read back is what was requested.
pub(super) fn honoured(order: &Order, made: &Group) -> Result<(), Error> {
    let differs = |what: &str, seen: String, asked: String| Error::GroupNotHonoured {
        name: made.name.clone(),
        reason: format!("it has {what} {seen}, requested {asked} (its parent has no others)"),
    };
    if let Some(asked) = order.cpus.as_ref().filter(|asked| **asked != made.cpus) {
        return Err(differs("CPUs", made.cpus.to_string(), asked.to_string()));
    }
    let asked = order.memory_nodes.as_ref();
    if let Some(asked) = asked.filter(|asked| **asked != made.memory_nodes) {
        return Err(differs(
            "memory nodes",
            made.memory_nodes.to_string(),
            asked.to_string(),
        ));
    }
    match (order.cpu_limit, made.cpu_limit) {
        (Some(asked), seen) if seen.is_none_or(|seen| (seen - asked).abs() > 0.01) => {
            let seen = seen.map_or("none".to_owned(), |seen| seen.to_string());
            Err(differs("a CPU limit of", seen, asked.to_string()))
        }
        _ => Ok(()),
    }
}
