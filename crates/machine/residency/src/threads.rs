//! The threads of the processes of a target, as the kernel shows them, and summed up by role.

use std::collections::{BTreeMap, BTreeSet};

use linux::proc_stat::{self, ProcessStat, thread_directory};
use linux::proc_status::{self, Allowed, Status};
use linux::{Error, Root, on_threads};
use model::{BytesByNode, FirstThread, Residency, ThreadMask, ThreadRole, Threads, Topology};

use super::nearness::{Nearness, Place, local_share};
use super::own_memory::shared_memory;
use super::process_maps::PROCESSES_AT_ONCE;
use super::tally::add_bytes;
use super::task_policy;
use crate::instances::{Member, Role, role_of};

/// The role of a thread whose name is in no row of the table.
const OTHER: &str = "other";

/// One thread.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    /// Its id, name, and the CPU on which it last ran.
    pub stat: ProcessStat,
    /// Where it may run and have memory.
    pub allowed: Allowed,
    /// The policy for memory that it allocates, in the kernel's words.
    pub policy: Option<String>,
}

/// A process and its threads, as their files show them once its memory was read.
#[derive(Clone, Debug, Default)]
pub(super) struct ProcessThreads {
    /// The process.
    pub pid: u32,
    /// Its identity; `None` when it can no longer be read.
    pub stat: Option<ProcessStat>,
    /// Its status; each field is `None` where it can no longer be read.
    pub status: Status,
    /// The threads that were read, ascending by id.
    pub threads: Vec<Thread>,
    /// Those that have ended since they were listed.
    pub ended: u32,
    /// Those that could not be read.
    pub unread: u32,
}

/// Why a thread was not read.
enum Missing {
    Ended,
    Unread,
}

/// Reads processes and their threads.
pub(super) fn read_all(root: &Root, members: &[Member]) -> Vec<ProcessThreads> {
    on_threads::map(members, PROCESSES_AT_ONCE, |member| read(root, member))
}

/// Reads which processes there still are, and none of their threads.
pub(super) fn read_none(root: &Root, members: &[Member]) -> Vec<ProcessThreads> {
    let read = |member: &Member| ProcessThreads {
        pid: member.stat.pid,
        stat: proc_stat::read(root, member.stat.pid).ok(),
        ..ProcessThreads::default()
    };
    members.iter().map(read).collect()
}

/// Reads a process and its threads; of a capture that has no other, the first.
fn read(root: &Root, member: &Member) -> ProcessThreads {
    let pid = member.stat.pid;
    let mut ids = match member.stat.threads {
        0 | 1 => Vec::new(),
        _ => proc_stat::threads(root, pid),
    };
    // A capture has the first thread as the process.
    if !ids.contains(&pid) {
        ids.insert(0, pid);
    }
    let stat = proc_stat::read(root, pid);
    let status = proc_status::read(root, pid);
    let mut found = ProcessThreads {
        pid,
        ..ProcessThreads::default()
    };
    for tid in ids {
        let thread = match tid == pid {
            true => first_thread(root, &stat, &status),
            false => other_thread(root, pid, tid),
        };
        match thread {
            Ok(thread) => found.threads.push(thread),
            Err(Missing::Ended) => found.ended += 1,
            Err(Missing::Unread) => found.unread += 1,
        }
    }
    if !root.is_live() {
        // The others were not captured.
        let read = found.threads.len() as u32 + found.ended;
        found.unread = found.unread.max(member.stat.threads.saturating_sub(read));
    }
    found.stat = stat.ok();
    found.status = status.unwrap_or_default();
    found
}

/// The first thread, whose files are those of the process.
fn first_thread(
    root: &Root,
    stat: &Result<ProcessStat, Error>,
    status: &Result<Status, Error>,
) -> Result<Thread, Missing> {
    let stat = stat.as_ref().map_err(|error| missing(root, error))?;
    let allowed = match status {
        Ok(status) => status.allowed.clone().ok_or(Missing::Unread),
        Err(error) => Err(missing(root, error)),
    };
    thread(root, stat.pid, stat.clone(), || allowed)
}

fn other_thread(root: &Root, pid: u32, tid: u32) -> Result<Thread, Missing> {
    let missing = |error: Error| missing(root, &error);
    let stat = proc_stat::read_thread(root, pid, tid).map_err(missing)?;
    thread(root, pid, stat, || {
        proc_status::allowed_of_thread(root, pid, tid).map_err(missing)
    })
}

/// A thread with this identity; missing when it is a zombie.
fn thread(
    root: &Root,
    pid: u32,
    stat: ProcessStat,
    allowed: impl FnOnce() -> Result<Allowed, Missing>,
) -> Result<Thread, Missing> {
    if stat.has_ended || stat.lacks_first_thread {
        return Err(Missing::Ended);
    }
    let allowed = allowed()?;
    let policy = task_policy::of_task(root, &thread_directory(pid, stat.pid));
    Ok(Thread {
        stat,
        allowed,
        policy,
    })
}

fn missing(root: &Root, error: &Error) -> Missing {
    match error.is_gone() && root.is_live() {
        true => Missing::Ended,
        false => Missing::Unread,
    }
}

/// Sums up the threads by role.
pub(super) struct Roles<'a> {
    topology: &'a Topology,
    threads: Threads,
    groups: BTreeMap<(String, String), Group>,
}

/// The threads of one role and name.
#[derive(Default)]
struct Group {
    role: ThreadRole,
    /// What decides how near their memory is.
    places: Vec<Place>,
    pids: BTreeSet<u32>,
}

impl<'a> Roles<'a> {
    pub(super) fn new(topology: &'a Topology) -> Self {
        Roles {
            topology,
            threads: Threads::default(),
            groups: BTreeMap::new(),
        }
    }

    /// Adds the threads of a process.
    pub(super) fn add(&mut self, member: &Member, of_process: &ProcessThreads) {
        let pid = member.stat.pid;
        self.threads.ended += of_process.ended;
        self.threads.unread += of_process.unread;
        let has_several = of_process.threads.len() > 1;
        for thread in &of_process.threads {
            let is_first = thread.stat.pid == pid;
            if is_first && has_several {
                self.threads.first_threads.push(FirstThread {
                    pid,
                    cpus: thread.allowed.cpus.clone(),
                    policy: thread.policy.clone(),
                });
            }
            let name = &thread.stat.name;
            let role = role_of(
                member.server,
                &member.class,
                (name, is_first),
                &member.stat.name,
            );
            let of_row = match *name == member.stat.name {
                true => name.clone(),
                false => stem(name),
            };
            self.add_thread(pid, thread, (role, of_row), has_several);
        }
    }

    fn add_thread(
        &mut self,
        pid: u32,
        thread: &Thread,
        (role, name): (Option<Role>, String),
        has_several: bool,
    ) {
        self.threads.threads += 1;
        // Of threads without a role, each name is a row.
        let key = match &role {
            Some(role) => (role.role.clone(), String::new()),
            None => (OTHER.to_owned(), name.clone()),
        };
        let group = self.groups.entry(key).or_default();
        let of_role = &mut group.role;
        if of_role.threads == 0 {
            of_role.role = role.as_ref().map_or(OTHER, |role| &role.role).to_owned();
            of_role.server = role.as_ref().map(|role| role.server.word().to_owned());
            of_role.source = role.as_ref().map(|role| role.source.to_owned());
            of_role.does_io = role.is_some_and(|role| role.does_io);
        }
        of_role.names.insert(name);
        of_role.threads += 1;
        group.pids.insert(pid);
        if !thread.allowed.cpus.is_subset(&of_role.cpus) {
            of_role.cpus.extend(thread.allowed.cpus.iter());
        }
        of_role
            .memory_nodes_allowed
            .extend(thread.allowed.memory_nodes.iter());
        let last = thread.stat.last_cpu;
        match last.and_then(|cpu| self.topology.node_of_cpu(cpu)) {
            Some(node) => *of_role.last_seen_by_node.entry(node).or_default() += 1,
            None => of_role.last_seen_unknown += 1,
        }
        match &thread.policy {
            Some(policy) => *of_role.policies.entry(policy.clone()).or_default() += 1,
            None => of_role.policy_unknown += 1,
        }
        group.places.push((thread.allowed.cpus.clone(), last));
        if has_several {
            add_mask(&mut of_role.masks, pid, thread);
        }
    }

    /// Returns the sums, with where the memory of the processes lies.
    pub(super) fn finish(mut self, residency: &Residency) -> Threads {
        let shared = shared_memory(residency);
        let private: BTreeMap<u32, &BytesByNode> = residency
            .processes
            .iter()
            .map(|process| (process.pid, &process.private_bytes_by_node))
            .collect();
        for group in self.groups.into_values() {
            let mut role = group.role;
            role.processes = group.pids.len() as u32;
            let nearness = Nearness::of(&group.places, self.topology);
            role.nodes_of_cpus = nearness.may.keys().copied().collect();
            role.data_bytes_by_node.clone_from(&shared);
            for pid in &group.pids {
                if let Some(bytes) = private.get(pid) {
                    add_bytes(&mut role.data_bytes_by_node, bytes);
                }
            }
            role.data_local_share = local_share(&role.data_bytes_by_node, &nearness.may);
            role.data_local_share_last = local_share(&role.data_bytes_by_node, &nearness.last);
            self.threads.roles.push(role);
        }
        // Of as many threads, in the order of their roles and names.
        self.threads
            .roles
            .sort_by_key(|role| std::cmp::Reverse(role.threads));
        self.threads
    }
}

fn add_mask(masks: &mut Vec<ThreadMask>, pid: u32, thread: &Thread) {
    let cpus = &thread.allowed.cpus;
    match masks
        .iter_mut()
        .find(|mask| mask.pid == pid && mask.cpus == *cpus)
    {
        Some(mask) => mask.threads += 1,
        None => masks.push(ThreadMask {
            pid,
            tid: thread.stat.pid,
            cpus: cpus.clone(),
            threads: 1,
        }),
    }
}

/// `conn4711` is `connN`: threads that differ only in a number have one name.
fn stem(name: &str) -> String {
    let stem = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    match stem.len() == name.len() || stem.is_empty() {
        true => name.to_owned(),
        false => format!("{stem}N"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_differ_in_a_number_have_one_name() {
        for (name, expected) in [
            ("conn4711", "connN"),
            ("io_thd_2", "io_thd_N"),
            ("main", "main"),
            ("42", "42"),
            ("", ""),
        ] {
            assert_eq!(stem(name), expected);
        }
    }

    /// A captured machine of two nodes with two CPUs each, and a server with these threads: id,
    /// name, last CPU, CPUs allowed, policy.
    fn threads(list: &[(u32, &str, u32, &str, &str)]) -> (Threads, ProcessThreads) {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: String, text: String| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let count = list.len();
        for (tid, name, cpu, cpus, policy) in list {
            let zeros = "0 ".repeat(10);
            let more = "0 ".repeat(16);
            let stat = format!("{tid} ({name}) S 1 7 7 0 -1 0 {zeros}{count} 0 99 {more}{cpu} 0\n");
            let lists = format!("Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n");
            let maps = format!("400000 {policy} file=/usr/bin/redis-server mapped=9 N0=9\n");
            let at = thread_directory(7, *tid);
            write(format!("{at}/stat"), stat);
            write(format!("{at}/status"), lists);
            write(format!("{at}/numa_maps"), maps);
        }
        // A thread that was listed and is not there any more.
        std::fs::create_dir_all(directory.path().join("proc/7/task/999")).unwrap();
        let root = Root::at(directory.path()).unwrap();
        let node = |(id, cpus): (u32, &str)| model::Node {
            id: model::NodeId(id),
            cpus: cpus.parse().unwrap(),
            ..model::Node::default()
        };
        let topology = Topology {
            nodes: [(0, "0-1"), (1, "2-3")].map(node).into(),
            ..Topology::default()
        };
        let member = Member {
            stat: proc_stat::read(&root, 7).unwrap(),
            class: "redis-server".to_owned(),
            server: Some(crate::instances::Server::Valkey),
        };
        let of_process = read(&root, &member);
        let mut roles = Roles::new(&topology);
        roles.add(&member, &of_process);
        let residency = Residency {
            processes: vec![model::ProcessResidency {
                pid: 7,
                private_bytes_by_node: [(model::NodeId(1), 4096)].into(),
                ..model::ProcessResidency::default()
            }],
            ..Residency::default()
        };
        (roles.finish(&residency), of_process)
    }

    #[test]
    fn threads_are_summed_up_by_role_with_where_they_run_and_where_their_data_is() {
        let (found, _) = threads(&[
            (7, "redis-server", 0, "0-3", "default"),
            (8, "io_thd_1", 2, "2", "default"),
            (9, "io_thd_2", 3, "3", "default"),
            (10, "bio_lazy_free", 1, "0-1", "bind:0"),
            (12, "bio_aof", 1, "0-1", "bind:0"),
            (11, "plugin) 17", 0, "0-3", "weighted interleave:0-1"),
        ]);
        assert_eq!((found.threads, found.ended, found.unread), (6, 0, 1));
        let names = |role: &ThreadRole| role.names.iter().cloned().collect::<Vec<_>>().join(" ");
        let roles: Vec<_> = found
            .roles
            .iter()
            .map(|role| (role.role.as_str(), names(role), role.threads))
            .collect();
        assert_eq!(
            roles,
            [
                ("I/O thread", "io_thd_N".to_owned(), 2),
                ("background job", "bio_aof bio_lazy_free".to_owned(), 2),
                ("main (runs commands)", "redis-server".to_owned(), 1),
                ("other", "plugin) N".to_owned(), 1),
            ]
        );
        let io = &found.roles[0];
        assert_eq!(io.cpus.to_string(), "2-3");
        assert_eq!(io.nodes_of_cpus.to_string(), "1");
        assert_eq!(io.last_seen_by_node, [(model::NodeId(1), 2)].into());
        assert_eq!(io.data_local_share_last, Some(1.0));
        assert_eq!((io.does_io, io.masks.len()), (true, 2));
        assert_eq!(found.roles[1].policies, [("bind:0".to_owned(), 2)].into());
        assert_eq!(found.roles[1].data_local_share, Some(0.0));
        assert_eq!(found.roles[3].source, None);
        let first = &found.first_threads[0];
        assert_eq!((first.pid, first.cpus.to_string()), (7, "0-3".to_owned()));
    }

    #[test]
    fn the_policy_is_that_of_the_thread() {
        let (_, of_process) = threads(&[
            (7, "redis-server", 0, "0", "default"),
            (8, "x", 0, "0", "prefer (many):0-1"),
        ]);
        let policies = of_process.threads.iter().map(|it| it.policy.as_deref());
        let policies: Vec<_> = policies.collect();
        assert_eq!(policies, [Some("default"), Some("prefer (many):0-1")]);
    }
}
