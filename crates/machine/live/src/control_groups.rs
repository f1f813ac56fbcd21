//! Memory of instances that have a cgroup of their own: one file each, some of them at each
//! snapshot.

use std::collections::BTreeMap;

use linux::{Root, control_group_memory, proc_stat};
use model::{BytesByNode, MemorySnapshot, MemorySource};

/// Files that are read at each snapshot, the oldest first: the kernel sums up the whole group for
/// each, and there may be many databases.
const FILES_PER_SNAPSHOT: usize = 4;

/// The cgroups of instances, by name.
#[derive(Debug, Default)]
pub(crate) struct ControlGroups {
    groups: BTreeMap<String, Group>,
}

#[derive(Debug)]
struct Group {
    path: String,
    /// When it was read, and what it said.
    read: Option<(f64, Option<BytesByNode>)>,
}

impl ControlGroups {
    /// Holds the groups of these instances, and forgets others.
    pub(crate) fn set(&mut self, paths: BTreeMap<String, String>) {
        let groups = paths.into_iter().map(|(name, path)| {
            let before = self.groups.remove(&name).filter(|it| it.path == path);
            let read = before.and_then(|it| it.read);
            (name, Group { path, read })
        });
        self.groups = groups.collect();
    }

    /// Reads some of the files.
    pub(crate) fn read(&mut self, root: &Root, uptime_s: f64) {
        let mut groups: Vec<&mut Group> = self.groups.values_mut().collect();
        let read_at = |group: &Group| group.read.as_ref().map_or(-1.0, |(at, _)| *at);
        groups.sort_by(|a, b| read_at(a).total_cmp(&read_at(b)));
        for group in groups.into_iter().take(FILES_PER_SNAPSHOT) {
            let bytes = control_group_memory::read(root, &group.path);
            group.read = Some((uptime_s, bytes.ok().flatten()));
        }
    }

    /// What the cgroup of an instance with so many processes was charged for.
    pub(crate) fn memory(&self, instance: &str, processes: usize) -> Option<MemorySnapshot> {
        let (looked_at_s, bytes) = self.groups.get(instance)?.read.as_ref()?;
        Some(MemorySnapshot {
            bytes_by_node: bytes.clone()?,
            source: MemorySource::ControlGroup,
            processes: u32::try_from(processes).unwrap_or(u32::MAX),
            complete: false,
            looked_at_s: *looked_at_s,
        })
    }
}

/// The cgroup that has these processes and no others.
pub(crate) fn own(root: &Root, pids: &[u32]) -> Option<String> {
    let paths = proc_stat::control_groups(root, *pids.first()?).ok()?;
    let paths = paths
        .into_iter()
        .filter(|path| !path.trim_matches('/').is_empty());
    let mut paths = paths.filter(|path| {
        let path = path.trim_matches('/');
        let procs = ["sys/fs/cgroup", "sys/fs/cgroup/memory"].map(|mount| {
            let file = root.read_optional(&format!("{mount}/{path}/cgroup.procs"));
            file.ok().flatten()
        });
        procs.into_iter().flatten().next().is_some_and(|file| {
            let mut of_it = file.lines().map(|(_, line)| line.trim().parse::<u32>());
            of_it.all(|pid| pid.is_ok_and(|pid| pids.contains(&pid)))
        })
    });
    paths.next()
}
