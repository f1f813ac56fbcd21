//! Which files of the processes of a target are captured: their identity, where they may run and
//! have memory, and what they have mapped.

use std::collections::BTreeSet;

use linux::Root;
use linux::proc_stat::{self, thread_directory};

use crate::instances::{Member, Target};

/// The files of each process, below /proc/PID.
const FILES: [&str; 9] = [
    "cgroup",
    "cmdline",
    "maps",
    "ns/ipc",
    "numa_maps",
    "smaps_rollup",
    "stat",
    "statm",
    "status",
];

/// The files of each further thread, below /proc/PID/task/TID: those of the first thread are the
/// files of the process.
const FILES_OF_THREADS: [&str; 3] = ["numa_maps", "stat", "status"];

/// The files of the control groups whose cpusets bind them: of v2 or of v1.
const FILES_OF_CPUSET: [&str; 4] = [
    "cpuset.cpus",
    "cpuset.cpus.effective",
    "cpuset.effective_cpus",
    "cpuset.mems",
];

/// Maximum number of threads captured of all processes: with three short files each they make an
/// archive of a few MiB, and what is left out is counted in the look at it.
const THREADS_MAX: usize = 20_000;

/// Returns the paths for a target and its processes. Includes the file that names the target
/// (postmaster.pid of a cluster), so that the same target is found in the capture.
pub fn paths(root: &Root, target: &Target, members: &[Member]) -> Vec<String> {
    let of_member = |member: &Member| {
        let pid = member.stat.pid;
        FILES.map(|file| format!("proc/{pid}/{file}"))
    };
    let mut paths: Vec<String> = members.iter().flat_map(of_member).collect();
    let threads = members.iter().filter(|member| member.stat.threads > 1);
    let threads = threads.flat_map(|member| {
        let pid = member.stat.pid;
        let ids = proc_stat::threads(root, pid).into_iter();
        ids.filter(move |tid| *tid != pid)
            .map(move |tid| thread_directory(pid, tid))
    });
    let of_thread = |directory: String| FILES_OF_THREADS.map(|file| format!("{directory}/{file}"));
    paths.extend(threads.take(THREADS_MAX).flat_map(of_thread));
    let groups = members.iter();
    let groups = groups.filter_map(|it| proc_stat::cpuset_directory(root, it.stat.pid).ok()?);
    let groups: BTreeSet<String> = groups.collect();
    let of_group = |group: String| FILES_OF_CPUSET.map(|file| format!("{group}/{file}"));
    paths.extend(groups.into_iter().flat_map(of_group));
    if let Target::Postgres(directory) = target {
        let directory = directory.trim_matches('/');
        paths.push(format!("{directory}/postmaster.pid"));
    }
    paths
}
