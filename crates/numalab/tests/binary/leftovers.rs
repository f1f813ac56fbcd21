//! What numalab could leave behind on the machine: processor groups, shared memory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the processor groups of the coordinators `pids`, in every mounted cpuset hierarchy.
pub(crate) fn groups_of(pids: &[u32]) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let mut found = Vec::new();
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let is_cpuset = match fields[2] {
            "cgroup" => fields[3].split(',').any(|option| option == "cpuset"),
            "cgroup2" => true,
            _ => false,
        };
        if is_cpuset {
            found.extend(groups_below(Path::new(fields[1]), pids));
        }
    }
    found
}

fn groups_below(parent: &Path, pids: &[u32]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // A group that vanishes meanwhile contains nothing.
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name
            .strip_prefix("numalab-")
            .and_then(|rest| rest.split('-').next());
        if maker.is_some_and(|maker| pids.iter().any(|pid| pid.to_string() == maker)) {
            found.push(entry.path());
        } else {
            found.extend(groups_below(&entry.path(), pids));
        }
    }
    found
}

/// Returns the ids of the System V segments that no process has attached.
///
/// The columns of /proc/sysvipc/shm: `key shmid perms size cpid lpid nattch uid gid …`.
pub(crate) fn segments_nobody_uses() -> BTreeSet<String> {
    let text = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        (columns[1].to_owned(), columns[6] == "0")
    });
    rows.filter(|(_, unused)| *unused)
        .map(|(id, _)| id)
        .collect()
}

/// Returns numalab's names in /dev/shm.
pub(crate) fn named_shared_memory() -> BTreeSet<String> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("numalab")).collect()
}
