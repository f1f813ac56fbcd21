//! Which processes are databases, by their names; found rarely, because it opens the command line
//! of every candidate.

use std::collections::{BTreeMap, BTreeSet};

use linux::process_activity::Activity;
use linux::{Root, proc_stat};
use residency::instances::{Target, find};

/// Servers other than PostgreSQL and Oracle: `comm`, cut at 15 bytes.
const SERVERS: [&str; 8] = [
    "mysqld",
    "mariadbd",
    "mongod",
    "redis-server",
    "valkey-server",
    "clickhouse-serv",
    "db2sysc",
    "sqlservr",
];

/// At most so many instances: names are chosen by others.
const INSTANCES_MAX: usize = 64;

/// A database: the processes from which all its others descend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub name: String,
    pub roots: BTreeSet<u32>,
}

/// Finds databases among the processes of a machine.
pub(crate) fn databases(root: &Root, processes: &BTreeMap<u32, Activity>) -> Vec<Found> {
    let mut found: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for (pid, process) in processes {
        let name = process.name.as_str();
        let parent = processes.get(&process.parent);
        let is_first = parent.is_none_or(|parent| parent.name != process.name);
        let target = if matches!(name, "postgres" | "postmaster") && is_first {
            let directory = data_directory(root, *pid);
            directory.map_or(Target::Process(*pid), Target::Postgres)
        } else if SERVERS.contains(&name) && is_first {
            Target::Name(name.to_owned())
        } else if let Some(of_name) = name.strip_prefix("ora_pmon_") {
            let title = proc_stat::title(root, *pid).unwrap_or_default();
            let sid = title.strip_prefix("ora_pmon_").unwrap_or(of_name);
            Target::Oracle(sid.to_owned())
        } else {
            continue;
        };
        let roots = match &target {
            Target::Oracle(_) => {
                let members = find(root, &target).unwrap_or_default();
                members.into_iter().map(|member| member.stat.pid).collect()
            }
            _ => BTreeSet::from([*pid]),
        };
        if found.len() < INSTANCES_MAX {
            found.entry(target.to_string()).or_default().extend(roots);
        }
    }
    found
        .into_iter()
        .map(|(name, roots)| Found { name, roots })
        .collect()
}

/// `postgres -D DIRECTORY`; else the directory that it works in, which is the same.
fn data_directory(root: &Root, pid: u32) -> Option<String> {
    let words = proc_stat::command_words(root, pid).ok()?;
    let named = words
        .iter()
        .skip_while(|word| *word != "-D")
        .nth(1)
        .cloned();
    let works_in = || {
        let directory = root
            .is_live()
            .then(|| linux::process::working_directory(pid));
        directory?.ok()?.into_os_string().into_string().ok()
    };
    let directory = named.filter(|it| it.starts_with('/')).or_else(works_in)?;
    (!directory.contains(char::is_control)).then_some(directory)
}

/// The processes that are one of `roots` or descend from it, ascending.
pub(crate) fn members(roots: &BTreeSet<u32>, processes: &BTreeMap<u32, Activity>) -> Vec<u32> {
    let belongs = |pid: &u32| {
        let mut at = *pid;
        // Parents are read one after the other, and may form a circle while ids are reused.
        for _ in 0..64 {
            if roots.contains(&at) {
                return true;
            }
            match processes.get(&at) {
                Some(process) => at = process.parent,
                None => return false,
            }
        }
        false
    };
    processes.keys().copied().filter(belongs).collect()
}
