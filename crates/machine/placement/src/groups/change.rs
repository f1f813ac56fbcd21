//! Changes a group while programs run in it: CPUs, memory nodes, limit, members.

use std::path::PathBuf;

use journal::{Change, Journal};
use linux::{Root, control_group, proc_stat, systemd};
use model::{CpuSet, NodeSet, shell_word};

use super::changes::{GroupNamed, MemberMoved};
use super::create::{self, Order};
use super::list::{self, Group};
use super::members::directory_of;
use super::{GroupName, membership};
use crate::group::enable_controller;
use crate::hierarchy;
use crate::{Error, cpu_limit, kernel_file};
use residency::instances::Member;

/// What to change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Set {
    /// New CPUs.
    pub cpus: Option<CpuSet>,
    /// New memory nodes.
    pub memory_nodes: Option<NodeSet>,
    /// New limit of CPU time, in CPUs.
    pub cpu_limit: Option<f64>,
    /// Whether version 1 moves memory to the new nodes; version 2 always does.
    pub migrate: bool,
}

/// Changes a group by its name, or a cgroup that numalab did not create by its path (`/db`).
///
/// # Errors
/// When there is no such group, it belongs to systemd, may not be written, or the kernel did not do
/// what was requested; what was changed is in the journal.
pub fn set(root: &Root, journal: &Journal, target: &str, wanted: &Set) -> Result<Group, Error> {
    let group = find(root, journal, target)?;
    let order = Order {
        name: "any".parse::<GroupName>().expect("it is a plain word"),
        cpus: wanted.cpus.clone(),
        memory_nodes: wanted.memory_nodes.clone(),
        cpu_limit: wanted.cpu_limit,
    };
    let directories = match &group.unit {
        Some(unit) => {
            systemd::set_properties(unit, &create::properties(&order))?;
            group.directories.clone()
        }
        None => write(root, journal, &group, wanted)?,
    };
    let now = list::read(group.name, directories, group.unit)?;
    create::honoured(&order, &now)?;
    Ok(now)
}

fn write(
    root: &Root,
    journal: &Journal,
    group: &Group,
    wanted: &Set,
) -> Result<Vec<PathBuf>, Error> {
    let cpuset = &group.directories[0];
    let write = |file: &str, value: String| {
        kernel_file::write(journal, &cpuset.join(file), &value).map(drop)
    };
    if wanted.migrate && group.version == 1 {
        write("cpuset.memory_migrate", "1".to_owned())?;
    }
    if let Some(nodes) = &wanted.memory_nodes {
        write("cpuset.mems", nodes.to_string())?;
    }
    if let Some(cpus) = &wanted.cpus {
        write("cpuset.cpus", cpus.to_string())?;
    }
    let mut directories = group.directories.clone();
    if let Some(limit) = wanted.cpu_limit {
        let directory = limit_directory(root, journal, group)?;
        let (file, value) = cpu_limit::limit_file(&directory, limit);
        kernel_file::write(journal, &file, &value)?;
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    Ok(directories)
}

/// The directory of a group's CPU limit; created if it had none.
fn limit_directory(root: &Root, journal: &Journal, group: &Group) -> Result<PathBuf, Error> {
    if let Some(second) = group.directories.get(1) {
        return Ok(second.clone());
    }
    let hierarchy = hierarchy::find_controller(root, "cpuset")?;
    let cpuset = group.directories[0].clone();
    if group.name.starts_with('/') {
        let of_cpu = hierarchy::find_controller(root, "cpu")?;
        return Ok(of_cpu.directory(&hierarchy.path(&cpuset)));
    }
    let Some(directory) = membership::limit_directory(root, &hierarchy, &group.name)? else {
        enable_controller(&hierarchy.parent, "cpu", journal)?;
        return Ok(cpuset);
    };
    let entry = GroupNamed {
        name: group.name.clone(),
        directories: vec![directory.clone()],
        unit: None,
    }
    .record(journal)?;
    if let Err(error) = control_group::create(&directory) {
        return Err(journal.failed(entry, true, error.into()).into());
    }
    for pid in &group.members {
        control_group::write(&directory.join("cgroup.procs"), &pid.to_string())?;
    }
    Ok(directory)
}

/// Moves processes into a group; returns how many.
///
/// # Errors
/// When there is no such group, it is a slice of systemd, or a process may not be moved; those that
/// were moved are in the journal.
pub fn add(
    root: &Root,
    journal: &Journal,
    target: &str,
    processes: &[Member],
) -> Result<usize, Error> {
    let group = find(root, journal, target)?;
    if let Some(unit) = &group.unit {
        return Err(Error::Group {
            name: group.name,
            reason: format!(
                "systemd does not move processes between units; set Slice={unit} in their service \
                 and restart it, or set its AllowedCPUs= and AllowedMemoryNodes= (`systemctl \
                 set-property`)"
            ),
        });
    }
    let mut moved = 0;
    for member in processes {
        // A process that has ended by now needs no group.
        match move_in(root, journal, &group, member.stat.pid) {
            Err(_) if proc_stat::read(root, member.stat.pid).is_err() => {}
            result => {
                result?;
                moved += 1;
            }
        }
    }
    Ok(moved)
}

fn move_in(root: &Root, journal: &Journal, group: &Group, pid: u32) -> Result<(), Error> {
    let mut from = Vec::new();
    for (directory, controller) in group.directories.iter().zip(["cpuset", "cpu"]) {
        let hierarchy = hierarchy::find_controller(root, controller)?;
        let before = directory_of(root, pid, &hierarchy, controller)?;
        if before == *directory {
            return Ok(());
        }
        from.push(before);
    }
    let entry = MemberMoved {
        pid,
        start_ticks: proc_stat::read(root, pid)?.start_ticks,
        from,
        to: group.directories.clone(),
    }
    .record(journal)?;
    for (index, directory) in group.directories.iter().enumerate() {
        let procs = directory.join("cgroup.procs");
        if let Err(error) = control_group::write(&procs, &pid.to_string()) {
            // The first move is one write, which the kernel carries out or refuses as a whole.
            return Err(journal.failed(entry, index == 0, error.into()).into());
        }
    }
    Ok(())
}

/// The group of this name, or a cgroup that numalab did not create by its path.
///
/// # Errors
/// When there is none, or it belongs to systemd.
pub fn find(root: &Root, journal: &Journal, target: &str) -> Result<Group, Error> {
    if !target.starts_with('/') {
        return list::find(root, journal, target)?.ok_or_else(|| Error::Group {
            name: target.to_owned(),
            reason: "numalab created no group of this name; list its groups with `numalab group \
                     list`, and name other cgroups by path: /db"
                .to_owned(),
        });
    }
    let refused = |reason: String| Error::Group {
        name: target.to_owned(),
        reason,
    };
    let hierarchy = hierarchy::find_controller(root, "cpuset")?;
    let directory = hierarchy.directory(target);
    if target.split('/').any(|part| part == "..") || !directory.is_dir() {
        return Err(refused(format!("no such cgroup: {}", directory.display())));
    }
    let is_ours = control_group::is_delegated(&directory, &hierarchy.mount);
    if hierarchy.belongs_to_systemd(root) && !is_ours {
        let unit = target
            .rsplit('/')
            .find(|part| part.contains('.'))
            .unwrap_or("UNIT");
        return Err(refused(format!(
            "it belongs to systemd; use systemctl set-property -- {} AllowedCPUs=LIST \
             AllowedMemoryNodes=LIST",
            shell_word(unit)
        )));
    }
    list::read(target.to_owned(), vec![directory], None)
}
