//! The CPU limit of a running target: that of the control group which it has for itself, written
//! through the journal (kernel, Documentation/scheduler/sched-bwc.rst).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use journal::Journal;
use linux::{Root, proc_stat};

use crate::groups::{directory_of, members, named};
use crate::hierarchy::{self, Hierarchy};
use crate::{Error, cpu_limit, kernel_file};

/// A control group whose CPU limit is that of a target and of nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetQuota {
    directory: PathBuf,
}

impl TargetQuota {
    /// Finds the group that has all of these processes and, but for what they have started, no
    /// others.
    ///
    /// # Errors
    /// When there is none, or it cannot have a limit; the error says what to do.
    pub fn of(root: &Root, pids: &BTreeSet<u32>) -> Result<Self, Error> {
        let hierarchy = hierarchy::find_controller(root, "cpu")?;
        let mut directories = Vec::new();
        for pid in pids {
            // What has ended since it was found has no group.
            match directory_of(root, *pid, &hierarchy, "cpu") {
                Err(_) if proc_stat::read(root, *pid).is_err() => {}
                found => directories.push(found?),
            }
        }
        let directory = common(&directories).filter(|it| *it != hierarchy.mount);
        let directory = directory.filter(|it| it.starts_with(&hierarchy.mount));
        let Some(directory) = directory else {
            return Err(not_its_own("it is in no control group of its own"));
        };
        let is_of_target = |pid: &u32| {
            let parent = |pid: u32| Some(proc_stat::read(root, pid).ok()?.parent);
            let mut line = std::iter::successors(Some(*pid), |pid| parent(*pid)).take(DEPTH_MAX);
            line.any(|pid| pids.contains(&pid)) || proc_stat::read(root, *pid).is_err()
        };
        let mut others = members(&directory);
        others.retain(|pid| !is_of_target(pid));
        if !others.is_empty() {
            let (path, others) = (hierarchy.path(&directory), named(root, &others));
            return Err(not_its_own(&format!(
                "its control group {path} has {others}, too"
            )));
        }
        let (file, _) = cpu_limit::limit_file(&directory, 1.0);
        if !file.exists() {
            let path = hierarchy.path(&directory);
            let why =
                format!("its control group {path} cannot have a limit: cpu is not enabled for it");
            return Err(not_its_own(&why));
        }
        Ok(TargetQuota { directory })
    }

    /// Limits the CPU time of the target to that of so many CPUs.
    ///
    /// # Errors
    /// When the journal or the file cannot be written, or the kernel refuses the value.
    pub fn set(&self, journal: &Journal, cpus: f64) -> Result<(), Error> {
        let (file, value) = cpu_limit::limit_file(&self.directory, cpus);
        kernel_file::write(journal, &file, &value)?;
        Ok(())
    }

    /// The limit now, in CPUs; `None` without one.
    pub fn now(&self) -> Option<f64> {
        cpu_limit::limit_of(&self.directory)
    }
}

/// The least limit of CPU time on a process, in CPUs: that of its group, or of one above it.
/// `None` where there is none, or no group.
pub fn limit_on(root: &Root, pid: u32) -> Option<f64> {
    let hierarchy = hierarchy::find_controller(root, "cpu").ok()?;
    let directory = directory_of(root, pid, &hierarchy, "cpu").ok()?;
    let Hierarchy { mount, .. } = hierarchy;
    let above = directory
        .ancestors()
        .take_while(|it| it.starts_with(&mount));
    above.filter_map(cpu_limit::limit_of).reduce(f64::min)
}

/// How far up the parents of a process are followed.
const DEPTH_MAX: usize = 64;

/// The deepest directory that all of these are or are in.
fn common(directories: &[PathBuf]) -> Option<PathBuf> {
    let (first, others) = directories.split_first()?;
    let mut above = first.ancestors();
    let is_common = |it: &&Path| others.iter().all(|other| other.starts_with(it));
    above.find(is_common).map(Path::to_owned)
}

fn not_its_own(why: &str) -> Error {
    Error::NoGroups {
        reason: format!(
            "a quota needs a control group that has the target alone, and {why}; start it as a \
             unit, or in a group with a limit: `numalab group create NAME --cpu-limit N`, \
             `numalab group add NAME TARGET`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A machine of these files; groups of version 2.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let mounts = "cgroup2 /c cgroup2 rw 0 0\n";
        let basic = [
            ("proc/mounts", mounts),
            ("proc/self/cgroup", "0::/\n"),
            ("c/cgroup.controllers", "cpuset cpu\n"),
        ];
        for (path, text) in basic.iter().chain(files) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::at(folder.path()).unwrap();
        (folder, root)
    }

    #[test]
    fn the_group_of_all_processes_of_a_target_is_theirs() {
        let (folder, root) = machine(&[
            ("proc/7/cgroup", "0::/db/main\n"),
            ("proc/8/cgroup", "0::/db/workers\n"),
            ("c/db/cpu.max", "max 100000\n"),
            ("c/db/main/cgroup.procs", "7\n"),
            ("c/db/workers/cgroup.procs", "8\n"),
        ]);
        let found = TargetQuota::of(&root, &[7, 8].into()).unwrap();
        assert_eq!(found.directory, folder.path().join("c/db"));
        assert_eq!(found.now(), None);
        fs::write(folder.path().join("c/db/cpu.max"), "150000 100000\n").unwrap();
        assert_eq!(found.now(), Some(1.5));
    }

    #[test]
    fn what_has_no_group_of_its_own_is_refused_with_a_way_out() {
        let check = |files: &[(&str, &str)], expected: &str| {
            let (_folder, root) = machine(files);
            let refused = TargetQuota::of(&root, &[7].into()).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
            assert!(refused.contains("numalab group create"), "{refused}");
        };
        check(
            &[("proc/7/cgroup", "0::/\n")],
            "in no control group of its own",
        );
        let stat = |pid| format!("{pid} (x) S 1{}\n", " 0".repeat(48));
        check(
            &[
                ("proc/7/cgroup", "0::/db\n"),
                ("c/db/cgroup.procs", "7\n9\n"),
                ("proc/7/stat", &stat(7)),
                ("proc/9/stat", &stat(9)),
            ],
            "control group /db has x (9), too",
        );
        check(
            &[("proc/7/cgroup", "0::/db\n"), ("c/db/cgroup.procs", "7\n")],
            "cpu is not enabled",
        );
    }
}
