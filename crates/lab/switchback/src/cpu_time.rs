//! The CPU time of a target: that of its control group, which counts every process that has ended,
//! where it has one of its own; else that of its processes.

use std::collections::BTreeSet;

use linux::{Root, proc_stat, process_cpu_time};
use residency::instances::{self, Target};

use crate::Error;

/// The only mount of cgroup v2, where there is no other.
const MOUNT: &str = "sys/fs/cgroup";

/// How the CPU time of a target is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CpuTime {
    /// From the file of a control group (v2) with its processes and no others.
    OfGroup(String),
    /// From its processes.
    OfProcesses,
}

impl CpuTime {
    /// Finds out how to read that of these processes.
    pub(crate) fn of(root: &Root, pids: &BTreeSet<u32>) -> Self {
        let own_group = || {
            let groups = proc_stat::control_groups(root, *pids.first()?).ok()?;
            // Of v1, every hierarchy has a line of its own.
            let [group] = &groups[..] else {
                return None;
            };
            let directory = format!("{MOUNT}/{}", group.trim_matches('/'));
            let members = root.read_lossy(&format!("{directory}/cgroup.procs")).ok()?;
            let members = members.text().lines().filter_map(|line| line.parse().ok());
            let is_own = members.collect::<BTreeSet<u32>>() == *pids && group.len() > 1;
            let stat = format!("{directory}/cpu.stat");
            (is_own && usage_s(root, &stat).is_some()).then_some(stat)
        };
        own_group().map_or(CpuTime::OfProcesses, CpuTime::OfGroup)
    }

    /// Reads it, in seconds.
    ///
    /// # Errors
    /// When the target has no process any more, or a file is malformed.
    pub(crate) fn read(&self, root: &Root, target: &Target) -> Result<f64, Error> {
        if let CpuTime::OfGroup(stat) = self
            && let Some(seconds) = usage_s(root, stat)
        {
            return Ok(seconds);
        }
        let mut sum_ns = 0_u64;
        for member in instances::find(root, target)? {
            let time = process_cpu_time::of_process(root, member.stat.pid)?;
            sum_ns = sum_ns.saturating_add(time.unwrap_or(0));
        }
        Ok(sum_ns as f64 * 1e-9)
    }
}

/// `usage_usec 1234`, the first line of cpu.stat (Documentation/admin-guide/cgroup-v2.rst).
fn usage_s(root: &Root, stat: &str) -> Option<f64> {
    let file = root.read_lossy(stat).ok()?;
    let usage = file
        .text()
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec "));
    Some(usage?.trim().parse::<u64>().ok()? as f64 * 1e-6)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_group_counts_if_the_target_is_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path()).unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/7/cgroup", "0::/db.service\n");
        write("sys/fs/cgroup/db.service/cgroup.procs", "7\n9\n");
        write(
            "sys/fs/cgroup/db.service/cpu.stat",
            "usage_usec 1500000\nuser_usec 1\n",
        );
        let all = CpuTime::of(&root, &[7, 9].into());
        let stat = "sys/fs/cgroup/db.service/cpu.stat".to_owned();
        assert_eq!(all, CpuTime::OfGroup(stat));
        let target = Target::Process(7);
        assert_eq!(all.read(&root, &target).unwrap(), 1.5);
        assert_eq!(CpuTime::of(&root, &[7].into()), CpuTime::OfProcesses);
        write("proc/7/cgroup", "3:cpu:/db.service\n2:cpuset:/\n");
        assert_eq!(CpuTime::of(&root, &[7, 9].into()), CpuTime::OfProcesses);
    }
}
