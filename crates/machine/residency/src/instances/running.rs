//! The databases of a machine as targets: the names that every command shows and takes.

use std::collections::{BTreeMap, BTreeSet};

use linux::proc_net_tcp::listening_ports;
use linux::proc_stat::{self, ProcessStat};
use linux::{Root, process};

use super::class::of_oracle;
use super::serving::port_of_title;
use super::{Place, Server, ServerTarget, Target, find, postmaster, server_of, serving};

/// Servers that no target of their own names: `comm`, cut at 15 bytes.
const OTHERS: [&str; 4] = ["mongod", "clickhouse-serv", "db2sysc", "sqlservr"];

/// At most so many databases: names are chosen by others.
const DATABASES_MAX: usize = 64;

/// A database that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// What every command takes for it, and for it alone.
    pub target: Target,
    /// The processes from which all its others descend.
    pub roots: BTreeSet<u32>,
}

/// A process that may be one of a database.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'n> {
    /// Its id.
    pub pid: u32,
    /// Its name (`comm`).
    pub name: &'n str,
    /// Its parent.
    pub parent: u32,
}

/// The databases among these processes, in the order of their names.
pub fn databases<'n>(
    root: &Root,
    processes: impl IntoIterator<Item = Candidate<'n>>,
) -> Vec<Database> {
    let processes = processes.into_iter().map(|process| (process.pid, process));
    let processes: BTreeMap<u32, Candidate<'n>> = processes.collect();
    let is_server = |name: &str| Server::TABLE.iter().any(|row| row.2.contains(&name));
    let servers = processes.values().filter(|it| is_server(it.name));
    let servers = servers.filter_map(|it| proc_stat::read(root, it.pid).ok());
    let servers: Vec<ProcessStat> = servers.collect();
    let mut found: BTreeMap<String, Database> = BTreeMap::new();
    for process in processes.values() {
        let parent = processes.get(&process.parent);
        let is_first = parent.is_none_or(|parent| parent.name != process.name);
        let target = match process.name {
            "postgres" | "postmaster" if is_first => cluster(root, process.pid),
            name if name.starts_with("ora_pmon_") => oracle(root, process),
            name if OTHERS.contains(&name) && is_first => apart(root, process.pid),
            _ if is_first => match server(root, process, &servers) {
                Some(target) => target,
                None => continue,
            },
            _ => continue,
        };
        let roots = match &target {
            Target::Oracle(_) => {
                let members = find(root, &target).unwrap_or_default();
                members.into_iter().map(|member| member.stat.pid).collect()
            }
            _ => BTreeSet::from([process.pid]),
        };
        if found.len() < DATABASES_MAX {
            let database = Database { target, roots };
            found.insert(database.target.to_string(), database);
        }
    }
    found.into_values().collect()
}

/// The databases of the machine.
///
/// # Errors
/// When /proc cannot be listed.
pub fn databases_of_machine(root: &Root) -> Result<Vec<Database>, linux::Error> {
    let pids = proc_stat::pids(root)?;
    // A process that has ended since has no database.
    let stats = pids
        .iter()
        .filter_map(|pid| proc_stat::read(root, *pid).ok());
    let stats: Vec<ProcessStat> = stats.filter(|stat| !stat.has_ended).collect();
    let candidates = stats.iter().map(|stat| Candidate {
        pid: stat.pid,
        name: &stat.name,
        parent: stat.parent,
    });
    Ok(databases(root, candidates))
}

/// `postgres:DATADIR`, if that names this postmaster here: that of a container has another name.
fn cluster(root: &Root, pid: u32) -> Target {
    let is_it = |directory: &String| match postmaster::find(root, directory) {
        Ok(found) => found == pid,
        // It is the name for whoever may read it.
        Err(error) => error.is_permission(),
    };
    let directory = data_directory(root, pid).filter(is_it);
    directory.map_or_else(|| apart(root, pid), Target::Postgres)
}

/// The control group that has this process with its descendants and nothing else, as that of a
/// container, whose name stays when it is started again; else its PID.
fn apart(root: &Root, pid: u32) -> Target {
    let pids = |target: &Target| -> BTreeSet<u32> {
        let members = find(root, target).unwrap_or_default();
        members.into_iter().map(|member| member.stat.pid).collect()
    };
    let alone = Target::Process(pid);
    let of_process = pids(&alone);
    let groups = proc_stat::control_groups(root, pid).unwrap_or_default();
    let groups = groups.into_iter();
    let groups = groups.filter(|path| path.len() > 1 && !path.contains(char::is_control));
    let mut groups = groups.map(Target::ControlGroup);
    groups
        .find(|group| pids(group) == of_process)
        .unwrap_or(alone)
}

/// `postgres -D DIRECTORY`; else the directory that it works in, which is the same.
fn data_directory(root: &Root, pid: u32) -> Option<String> {
    let words = proc_stat::command_words(root, pid).ok()?;
    let mut named = words.iter().skip_while(|word| *word != "-D");
    let named = named.nth(1).filter(|it| it.starts_with('/')).cloned();
    named.or_else(|| working_directory(root, pid))
}

fn working_directory(root: &Root, pid: u32) -> Option<String> {
    let directory = root.is_live().then(|| process::working_directory(pid))?;
    let directory = directory.ok()?.into_os_string().into_string().ok()?;
    (!directory.contains(char::is_control)).then_some(directory)
}

fn oracle(root: &Root, process: &Candidate<'_>) -> Target {
    let title = proc_stat::title(root, process.pid).unwrap_or_default();
    let sid = |text: &str| Some(of_oracle(text)?.split_once('_')?.1.to_owned());
    let sid = sid(&title).or_else(|| sid(process.name));
    sid.map_or(Target::Process(process.pid), Target::Oracle)
}

/// `redis:6379`, `mysql:/var/lib/mysql`, if that names this server alone; else its PID. `None` if
/// it is none. `servers` are all of any kind.
fn server(root: &Root, process: &Candidate<'_>, servers: &[ProcessStat]) -> Option<Target> {
    let mut rows = Server::TABLE.into_iter();
    let is_of = |programs: &[&str]| programs.contains(&process.name);
    let (server, _, programs, words) = rows.find(|row| is_of(row.2))?;
    let title = proc_stat::title(root, process.pid).unwrap_or_default();
    if words.is_empty() || server_of(process.name, &title) != Some(server) {
        return None;
    }
    // mariadbd is mariadb:…, mysqld mysql:…; valkey-server is valkey:….
    let program = programs.iter().find(|program| **program == process.name)?;
    let word = words.iter().find(|word| program.starts_with(**word));
    let word = *word.or(words.first())?;
    let listens = || listening_ports(root, process.pid).unwrap_or_default();
    let port = port_of_title(&title).or_else(|| listens().into_iter().min());
    let directory = || working_directory(root, process.pid).map(Place::Directory);
    let places = [port.map(Place::Port), directory()];
    let targets = places.into_iter().flatten().map(|place| ServerTarget {
        word,
        server,
        place,
    });
    let mut targets = targets
        .filter(|target| serving::find(root, target, servers).is_ok_and(|pid| pid == process.pid));
    let target = targets.next().map(Target::Server);
    Some(target.unwrap_or_else(|| apart(root, process.pid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A captured /proc with one line per process: pid, parent, name, title.
    fn check(processes: &[(u32, u32, &str, &str)], files: &[(&str, &str)], expected: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        for (pid, parent, name, title) in processes {
            let process = directory.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&process).unwrap();
            let rest = format!("S {parent} 1 1 0 -1 0 {}", "1 ".repeat(40));
            std::fs::write(process.join("stat"), format!("{pid} ({name}) {rest}")).unwrap();
            let words = title.replace(' ', "\0");
            let title = match title.contains(" -D ") {
                true => words,
                false => (*title).to_owned(),
            };
            std::fs::write(process.join("cmdline"), title).unwrap();
        }
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        let found = databases_of_machine(&root).unwrap();
        let names: Vec<String> = found.iter().map(|it| it.target.to_string()).collect();
        assert_eq!(names, expected, "{processes:?}");
        for database in &found {
            let members = find(&root, &database.target).unwrap();
            let pids: BTreeSet<u32> = members.iter().map(|it| it.stat.pid).collect();
            assert!(database.roots.is_subset(&pids), "{database:?}: {pids:?}");
        }
    }

    #[test]
    fn every_database_has_a_name_of_its_own_that_commands_take() {
        check(
            &[
                (10, 1, "redis-server", "redis-server *:6379"),
                (11, 10, "redis-server", "redis-rdb-bgsave *:6379"),
                (20, 1, "redis-server", "redis-server *:6380"),
                (30, 1, "valkey-server", "/usr/bin/valkey-server [::1]:7000"),
            ],
            &[],
            &["redis:6379", "redis:6380", "valkey:7000"],
        );
        // Two of one port, in containers, have no name that tells them apart.
        check(
            &[
                (10, 1, "redis-server", "redis-server *:6379"),
                (20, 1, "redis-server", "redis-server *:6379"),
                (40, 1, "mongod", "mongod"),
                (41, 1, "mongod", "mongod"),
            ],
            &[],
            &["10", "20", "40", "41"],
        );
        check(
            &[
                (10, 1, "postgres", "/usr/bin/postgres -D /data/a"),
                (11, 10, "postgres", "postgres: checkpointer"),
                // Of a container: no such directory here.
                (20, 1, "postgres", "/usr/bin/postgres -D /mnt/d"),
                (30, 1, "ora_pmon_orcl", "ora_pmon_ORCL"),
                (31, 1, "ora_p000_orcl", "ora_p000_ORCL"),
                (40, 1, "sleep", "sleep"),
            ],
            &[
                ("data/a/postmaster.pid", "10\n/data/a\n"),
                ("proc/20/cgroup", "0::/pod/b\n"),
                ("proc/30/cgroup", "0::/\n"),
            ],
            &["cgroup:/pod/b", "oracle:ORCL", "postgres:/data/a"],
        );
    }
}
