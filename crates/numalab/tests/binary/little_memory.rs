//! A control group with a memory limit, as a container has one.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use testing::not_run;

use crate::laboratory::Laboratory;
use crate::patience::until_within;
use crate::unmet_need::refused_need;

/// The group; removed when dropped.
pub(crate) struct LittleMemory(PathBuf);

impl LittleMemory {
    /// Creates a group with this much memory, or reports that `test` is not run if it may not.
    pub(crate) fn new(test: &str, mebibytes: u64) -> Option<Self> {
        let group = Self::made(test, mebibytes);
        if group.is_none() {
            let why = "no control group with a limit of memory can be made";
            not_run(test, refused_need(), why);
        }
        group
    }

    fn made(test: &str, mebibytes: u64) -> Option<Self> {
        let root = PathBuf::from("/sys/fs/cgroup");
        let (parent, limit) = match root.join("memory").is_dir() {
            true => (root.join("memory"), "memory.limit_in_bytes"),
            false => (root, "memory.max"),
        };
        let group = parent.join(format!("numalab-test-{}-{test}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let group = LittleMemory(group);
        fs::write(group.0.join(limit), (mebibytes << 20).to_string()).ok()?;
        // Without a swap limit, pages would be swapped out.
        let _ = fs::write(group.0.join("memory.swap.max"), "0");
        Some(group)
    }

    /// Makes a laboratory start numalab in this group.
    pub(crate) fn launches(&self, laboratory: &mut Laboratory) {
        let enter = format!("echo $$ >{}/cgroup.procs && exec \"$@\"", self.0.display());
        laboratory.launch_behind(&["sh", "-c", &enter, "sh"]);
    }

    /// Makes a laboratory start numalab in this group with control groups hidden, and so the limit,
    /// too.
    pub(crate) fn is_hidden_from(&self, laboratory: &mut Laboratory) {
        self.launches(laboratory);
        let hide = "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"";
        laboratory.launch_behind(&["unshare", "--mount", "sh", "-c", hide, "sh"]);
    }
}

impl Drop for LittleMemory {
    fn drop(&mut self) {
        // The kernel may still be cleaning up the last process.
        let _ = until_within(Duration::from_secs(5), || fs::remove_dir(&self.0).ok());
    }
}
