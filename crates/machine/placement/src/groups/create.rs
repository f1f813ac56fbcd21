//! Creates a named processor group.

use std::path::PathBuf;

use journal::{Change, Entry, Journal, Kind, Kinds, Origin};
use linux::{Root, control_group, systemd};
use model::{CpuSet, NodeSet};

use super::changes::GroupNamed;
use super::controllers::give_back_controllers;
use super::list::{self, Group};
use super::{GroupName, membership};
use crate::group::{effective_text, enable_controller};
use crate::hierarchy::{self, Hierarchy};
use crate::{Error, cpu_limit};

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
    let made = match any.belongs_to_systemd(root) {
        true => create_slice(journal, order, &any),
        false => {
            let hierarchy = hierarchy::find(root)?;
            let directories = directories(root, order, &hierarchy)?;
            if let Some(existing) = directories.iter().find(|directory| directory.exists()) {
                let path = existing.display();
                return Err(refused(format!(
                    "{path} exists, and numalab did not create it"
                )));
            }
            create_directories(journal, order, &hierarchy, directories)
        }
    };
    let read_back = || {
        let made = list::find(root, journal, name)?;
        let made = made.ok_or_else(|| refused("it is gone".to_owned()))?;
        honoured(order, &made).map(|()| made)
    };
    let outcome = made.and_then(|()| read_back());
    if outcome.is_err() {
        take_back(root, journal, name)?;
    }
    outcome
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
) -> Result<(), Error> {
    if hierarchy.version == 2 {
        enable_controller(&hierarchy.parent, "cpuset", journal)?;
        if order.cpu_limit.is_some() {
            enable_controller(&hierarchy.parent, "cpu", journal)?;
        }
    }
    GroupNamed {
        name: order.name.to_string(),
        directories: directories.clone(),
        unit: None,
    }
    .record(journal)?;
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
}

/// Has systemd create the group as a slice.
fn create_slice(journal: &Journal, order: &Order, hierarchy: &Hierarchy) -> Result<(), Error> {
    let unit = systemd::slice_of(order.name.as_str());
    let directory = hierarchy.directory(&format!("/{}/{unit}", systemd::SLICE_OF_GROUPS));
    GroupNamed {
        name: order.name.to_string(),
        directories: vec![directory],
        unit: Some(unit.clone()),
    }
    .record(journal)?;
    systemd::set_properties(&unit, &properties(order))?;
    Ok(systemd::start(&unit)?)
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

/// Takes back what a failed create has made.
fn take_back(root: &Root, journal: &Journal, name: &str) -> Result<(), Error> {
    const NAMED: Kinds = Kinds(&[&[Kind::of::<GroupNamed>()]]);
    let is_it = |entry: &Entry| GroupNamed::of(&entry.change).is_some_and(|it| it.name == name);
    let is_wanted = |entry: &Entry| entry.made_by.origin(root) == Origin::ThisBoot && is_it(entry);
    for undone in journal::undo(journal, NAMED, is_wanted, false)? {
        if let Some(failure) = undone.failure {
            return Err(failure.into());
        }
    }
    give_back_controllers(root, journal)
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
