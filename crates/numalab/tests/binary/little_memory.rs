//! A control group with a limit of memory, as a container has one.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use testing::not_run;

use crate::laboratory::Laboratory;
use crate::patience::until_within;
use crate::unmet_need::refused_need;

/// The group, as long as this lives.
pub(crate) struct LittleMemory(PathBuf);

impl LittleMemory {
    /// A group with so much memory; says that `test` is not run where it may not make one.
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
        // Without a limit of swap, pages would go there.
        let _ = fs::write(group.0.join("memory.swap.max"), "0");
        Some(group)
    }

    /// Has a laboratory start numalab in it.
    pub(crate) fn launches(&self, laboratory: &mut Laboratory) {
        let enter = format!("echo $$ >{}/cgroup.procs && exec \"$@\"", self.0.display());
        laboratory.launch_behind(&["sh", "-c", &enter, "sh"]);
    }

    /// Has a laboratory start numalab in it where no control groups are shown, and so no limit.
    pub(crate) fn is_hidden_from(&self, laboratory: &mut Laboratory) {
        self.launches(laboratory);
        let hide = "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"";
        laboratory.launch_behind(&["unshare", "--mount", "sh", "-c", hide, "sh"]);
    }
}

impl Drop for LittleMemory {
    fn drop(&mut self) {
        // The kernel may still be taking leave of the last process.
        let _ = until_within(Duration::from_secs(5), || fs::remove_dir(&self.0).ok());
    }
}
