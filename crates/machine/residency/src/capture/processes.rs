//! Which files of the processes of a target are captured: their identity, where they may run and
//! have memory, and what they have mapped.

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

/// Returns the paths for a target and its processes. Includes the file that names the target
/// (postmaster.pid of a cluster), so that the same target is found in the capture.
pub fn paths(target: &Target, members: &[Member]) -> Vec<String> {
    let of_member = |member: &Member| {
        let pid = member.stat.pid;
        FILES.map(|file| format!("proc/{pid}/{file}"))
    };
    let mut paths: Vec<String> = members.iter().flat_map(of_member).collect();
    if let Target::Postgres(directory) = target {
        let directory = directory.trim_matches('/');
        paths.push(format!("{directory}/postmaster.pid"));
    }
    paths
}
