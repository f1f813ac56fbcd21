//! The processes of a group and of the cgroups below it, and which cgroups a process is in.

use std::path::{Path, PathBuf};

use linux::{Root, control_group};

use crate::Error;
use crate::hierarchy::Hierarchy;

/// Depth to which nested cgroups are followed: a bound for a tree that loops.
const DEPTH_MAX: usize = 16;

/// Ids of the processes in a cgroup and below it, ascending; none if the cgroup is gone.
pub fn members(directory: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    collect(directory, DEPTH_MAX, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// Refuses to remove a group that has processes, and names them.
pub(super) fn must_be_empty(root: &Root, name: &str, directories: &[PathBuf]) -> Result<(), Error> {
    let mut pids: Vec<u32> = directories
        .iter()
        .flat_map(|it: &PathBuf| members(Path::new(it)))
        .collect();
    pids.sort_unstable();
    pids.dedup();
    if pids.is_empty() {
        return Ok(());
    }
    Err(Error::Group {
        name: name.to_owned(),
        reason: format!("it has members: {}", named(root, &pids)),
    })
}

fn collect(directory: &Path, depth: usize, found: &mut Vec<u32>) {
    let text = control_group::read(&directory.join("cgroup.procs")).unwrap_or_default();
    found.extend(
        text.split_ascii_whitespace()
            .filter_map(|pid| pid.parse::<u32>().ok()),
    );
    if depth == 0 {
        return;
    }
    let below = directory
        .to_str()
        .and_then(|path| Root::live().entries(path).ok().flatten());
    for name in below.unwrap_or_default() {
        let child = directory.join(name);
        if child.is_dir() {
            collect(&child, depth - 1, found);
        }
    }
}

/// The directory of the cgroup that a process is in, in one hierarchy.
///
/// Real lines of /proc/PID/cgroup: `3:cpuset:/db` and `0::/db`.
///
/// # Errors
/// When the process is gone, or the hierarchy has no line.
pub(crate) fn directory_of(
    root: &Root,
    pid: u32,
    hierarchy: &Hierarchy,
    controller: &str,
) -> Result<PathBuf, Error> {
    let file = root.read_lossy(&format!("proc/{pid}/cgroup"))?;
    let path = file.lines().find_map(|(_, line)| {
        let mut fields = line.splitn(3, ':');
        let (number, names) = (fields.next()?, fields.next()?);
        let is_it = match hierarchy.version {
            1 => names.split(',').any(|name| name == controller),
            _ => number == "0" && names.is_empty(),
        };
        fields.next().filter(|_| is_it).map(str::to_owned)
    });
    let path = path.ok_or_else(|| Error::NoGroups {
        reason: format!("{} names none for {controller}", file.path().display()),
    })?;
    Ok(hierarchy.directory(&path))
}

/// The names of the first few of some processes, for a message: `postgres (17), psql (18)`.
pub(crate) fn named(root: &Root, pids: &[u32]) -> String {
    const SHOWN: usize = 8;
    let name = |pid: &u32| match linux::proc_stat::read(root, *pid) {
        Ok(stat) => format!("{} ({pid})", stat.name),
        Err(_) => pid.to_string(),
    };
    let mut text = pids
        .iter()
        .take(SHOWN)
        .map(name)
        .collect::<Vec<_>>()
        .join(", ");
    if pids.len() > SHOWN {
        text.push_str(&format!(" and {} more", pids.len() - SHOWN));
    }
    text
}
