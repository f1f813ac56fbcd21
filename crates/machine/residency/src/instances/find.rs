//! Finds the processes of a target in /proc.

use std::collections::BTreeSet;

use linux::proc_stat::{self, ProcessStat};
use linux::{Root, on_threads};

use super::class::of_oracle;
use super::{
    InstanceError, Server, ServerTarget, Target, class_of, postmaster, server_of, serving,
};

/// Processes that a thread reads at once.
const PROCESSES_AT_ONCE: usize = 8;

/// One process of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its identity.
    pub stat: ProcessStat,
    /// Its class.
    pub class: String,
    /// The server that it belongs to, where its name or title is that of one.
    pub server: Option<Server>,
}

/// Finds the processes of a target, ascending by id. Leaves out this process, kernel threads,
/// zombies, and processes that end in the meantime.
///
/// # Errors
/// When there are none, all have ended, or the one named is a kernel thread.
pub fn find(root: &Root, target: &Target) -> Result<Vec<Member>, InstanceError> {
    let candidates = candidates(root)?;
    let title = |process: &ProcessStat| proc_stat::title(root, process.pid).unwrap_or_default();
    let chosen = match target {
        Target::Process(pid) => with_descendants(&candidates, [*pid].into()),
        Target::Name(name) => with_descendants(
            &candidates,
            pids_where(&candidates, |process| {
                is_named(process, &title(process), name)
            }),
        ),
        Target::Postgres(directory) => {
            with_descendants(&candidates, [postmaster::find(root, directory)?].into())
        }
        Target::Server(server) => with_descendants(
            &candidates,
            [serving::find(root, server, &candidates)?].into(),
        ),
        Target::Oracle(sid) => pids_where(&candidates, |process| {
            is_of_sid(process, &title(process), sid)
        }),
        Target::ControlGroup(path) => in_groups(root, &candidates, |group| is_below(group, path)),
        Target::Unit(name) => in_groups(root, &candidates, |group| is_of_unit(group, name)),
    };
    let chosen: Vec<ProcessStat> = candidates
        .into_iter()
        .filter(|process| chosen.contains(&process.pid))
        .collect();
    if let (Target::Process(_), [only]) = (target, &chosen[..])
        && only.is_kernel_thread
    {
        let (pid, name) = (only.pid, only.name.clone());
        return Err(InstanceError::KernelThread { pid, name });
    }
    let (ended, running): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|process| process.has_ended);
    let running = running.into_iter().filter(|it| !it.is_kernel_thread);
    let running: Vec<ProcessStat> = running.collect();
    let members = on_threads::map(&running, PROCESSES_AT_ONCE, |process| {
        let title = title(process);
        Member {
            stat: process.clone(),
            class: class_of(&process.name, &title),
            server: server_of(&process.name, &title),
        }
    });
    if members.is_empty() {
        if let Some(ended) = ended.into_iter().next() {
            let ProcessStat {
                pid, name, parent, ..
            } = ended;
            return Err(InstanceError::Ended { pid, name, parent });
        }
        return Err(no_process(root, target));
    }
    Ok(members)
}

/// Returns the process of a server that a target names by its place.
///
/// # Errors
/// As [`find`].
pub fn server_process(root: &Root, target: &ServerTarget) -> Result<u32, InstanceError> {
    serving::find(root, target, &candidates(root)?)
}

fn no_process(root: &Root, target: &Target) -> InstanceError {
    match target {
        Target::ControlGroup(path) if root.is_live() && !group_exists(root, path) => {
            let path = path.clone();
            InstanceError::NoControlGroup { path }
        }
        _ => InstanceError::NoProcess {
            target: target.clone(),
        },
    }
}

/// Whether a control group of this path exists in the only hierarchy of cgroup v2, or in one of v1.
fn group_exists(root: &Root, path: &str) -> bool {
    const MOUNTS: &str = "sys/fs/cgroup";
    let path = path.trim_matches('/');
    let is_there = |mount: &str| root.require(&format!("{mount}/{path}")).is_ok();
    if root
        .require(&format!("{MOUNTS}/cgroup.controllers"))
        .is_ok()
    {
        return is_there(MOUNTS);
    }
    let hierarchies = root.entries(MOUNTS).ok().flatten().unwrap_or_default();
    let mut mounts = hierarchies.iter().map(|name| format!("{MOUNTS}/{name}"));
    mounts.any(|mount| is_there(&mount))
}

fn candidates(root: &Root) -> Result<Vec<ProcessStat>, InstanceError> {
    let own = root.is_live().then(std::process::id);
    let mut pids = proc_stat::pids(root)?;
    pids.retain(|pid| Some(*pid) != own);
    // A process that has ended since the directory was listed does not count.
    let candidates = on_threads::map(&pids, PROCESSES_AT_ONCE, |pid| proc_stat::read(root, *pid));
    Ok(candidates.into_iter().flatten().collect())
}

fn pids_where(candidates: &[ProcessStat], belongs: impl Fn(&ProcessStat) -> bool) -> BTreeSet<u32> {
    let chosen = candidates.iter().filter(|process| belongs(process));
    chosen.map(|process| process.pid).collect()
}

fn is_named(process: &ProcessStat, title: &str, name: &str) -> bool {
    process.name == name || title.rsplit('/').next() == Some(name)
}

fn with_descendants(candidates: &[ProcessStat], mut chosen: BTreeSet<u32>) -> BTreeSet<u32> {
    loop {
        let parents = chosen.clone();
        let is_child = |process: &ProcessStat| parents.contains(&process.parent);
        chosen.extend(pids_where(candidates, is_child));
        if chosen.len() == parents.len() {
            return chosen;
        }
    }
}

/// `ora_pmon_ORCL` or `asm_pmon_+ASM1`, or a session `oracleORCL`, which ASM names after its
/// client: `oracle+ASM1_asmb_orcl`.
fn is_of_sid(process: &ProcessStat, title: &str, sid: &str) -> bool {
    let title = title.split(' ').next().unwrap_or("");
    let background = |text: &str| {
        let rest = of_oracle(text).and_then(|rest| rest.split_once('_'));
        rest.is_some_and(|(_, of)| of.eq_ignore_ascii_case(sid))
    };
    let session = title.strip_prefix("oracle").is_some_and(|of| {
        let of = match of.starts_with('+') {
            true => of.split('_').next().unwrap_or(of),
            false => of,
        };
        of.eq_ignore_ascii_case(sid)
    });
    background(title) || background(&process.name) || session
}

fn in_groups(
    root: &Root,
    candidates: &[ProcessStat],
    belongs: impl Fn(&str) -> bool,
) -> BTreeSet<u32> {
    pids_where(candidates, |process| {
        let groups = proc_stat::control_groups(root, process.pid).unwrap_or_default();
        groups.iter().any(|group| belongs(group))
    })
}

fn is_below(group: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    group
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `/system.slice/postgresql.service` for `postgresql` or `postgresql.service`.
fn is_of_unit(group: &str, name: &str) -> bool {
    let is_unit = |part: &str| {
        let short = part.rsplit_once('.').map_or(part, |(short, _)| short);
        part == name || (short == name && part != short)
    };
    group.split('/').any(is_unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A captured /proc with one line per process: pid, parent, flags, name, title, cgroup.
    fn root() -> (tempfile::TempDir, Root) {
        let processes = [
            (1, 0, 0, "systemd", "/sbin/init", "/init.scope"),
            (2, 0, 0x0020_0000, "kthreadd", "", "/"),
            (
                10,
                1,
                0,
                "postgres",
                "/usr/bin/postgres",
                "/system.slice/postgresql@16.service",
            ),
            (
                11,
                10,
                0,
                "postgres",
                "postgres: checkpointer",
                "/system.slice/pg.service",
            ),
            (20, 1, 0, "ora_pmon_slob", "ora_pmon_slob", "/db/slob"),
            (21, 1, 0, "ora_p000_slob", "ora_p000_slob", "/db/slob/px"),
            (22, 1, 0, "oracle_22_slob", "oracleslob (LOCAL=NO)", "/dbx"),
            (30, 1, 0, "ora_pmon_other", "ora_pmon_other", "/"),
            (31, 1, 0, "oracle", "ora_u004_other", "/"),
            (35, 1, 0, "asm_pmon_+asm1", "asm_pmon_+ASM1", "/"),
            (
                36,
                1,
                0,
                "oracle_36_+asm1",
                "oracle+ASM1_asmb_slob (DESC",
                "/",
            ),
            (40, 1, 0, "redis-server", "redis-server *:6379", "/"),
            (41, 40, 0, "redis-server", "redis-rdb-bgsave *:6379", "/"),
            (42, 1, 0, "redis-server", "redis-server [::1]:6380", "/"),
            (43, 1, 0, "redis-server", "redis-server *:6380", "/"),
            (50, 1, 0, "mariadbd", "/usr/sbin/mariadbd", "/"),
        ];
        let directory = tempfile::tempdir().unwrap();
        for (pid, parent, flags, name, title, group) in processes {
            let process = directory.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&process).unwrap();
            let zeros = "0 ".repeat(40);
            let stat = format!("{pid} ({name}) S {parent} 1 1 0 -1 {flags} {zeros}");
            std::fs::write(process.join("stat"), stat).unwrap();
            std::fs::write(process.join("cmdline"), format!("{title}\0-D\0secret\0")).unwrap();
            std::fs::write(process.join("cgroup"), format!("0::{group}\n")).unwrap();
        }
        std::fs::create_dir_all(directory.path().join("proc/99")).unwrap();
        std::fs::create_dir_all(directory.path().join("data")).unwrap();
        std::fs::write(directory.path().join("data/postmaster.pid"), "10\n/data\n").unwrap();
        let root = Root::at(directory.path()).unwrap();
        (directory, root)
    }

    #[test]
    fn every_form_of_target_finds_its_processes() {
        let (_directory, root) = root();
        let check = |target: &str, expected: &[u32]| {
            let members = find(&root, &target.parse().unwrap()).unwrap();
            let pids: Vec<u32> = members.iter().map(|member| member.stat.pid).collect();
            assert_eq!(pids, expected, "{target}");
        };
        check("10", &[10, 11]);
        check("postgres", &[10, 11]);
        check("postgres:/data", &[10, 11]);
        check("oracle:SLOB", &[20, 21, 22]);
        check("oracle:other", &[30, 31]);
        check("oracle:+ASM1", &[35, 36]);
        check("cgroup:/db", &[20, 21]);
        check("redis:6379", &[40, 41]);
        check("valkey:6379", &[40, 41]);
        // Without its directory in a capture: it is the only one.
        check("mysql:/var/lib/mysql", &[50]);
        check(
            "cgroup:/",
            &[1, 10, 11, 20, 21, 22, 30, 31, 35, 36, 40, 41, 42, 43, 50],
        );
        check("unit:postgresql@16", &[10]);
        check("unit:pg.service", &[11]);
        check(
            "1",
            &[1, 10, 11, 20, 21, 22, 30, 31, 35, 36, 40, 41, 42, 43, 50],
        );
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let (_directory, root) = root();
        let check = |target: &str, expected: &str| {
            let error = find(&root, &target.parse().unwrap())
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("2", "process 2 (kthreadd) is a thread of the kernel");
        check("99", "no process of 99 is running");
        check("mysqld", "no process of mysqld is running");
        check(
            "redis:1",
            "no server of Valkey, Redis listens on port 1; those that run: processes 40, 41, 42",
        );
        check("redis:6380", "names several servers: processes 42, 43");
        check("oracle:nope", "no process of oracle:nope is running");
        check("postgres:/nowhere", "there is no such directory");
        check("postgres:/proc", "it has no postmaster.pid");
        check(
            "cgroup:/nowhere",
            "no process of cgroup:/nowhere is running",
        );
    }
}
