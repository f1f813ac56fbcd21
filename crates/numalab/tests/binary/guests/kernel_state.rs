//! What the kernel shows of groups, shared memory and pools of huge pages. A test leaves all of it
//! as it found it.

use std::fs;

use crate::laboratory::Laboratory;

/// Prints groups, the controllers of the root group of version 2, System V segments, names in
/// /dev/shm, and for each pool of each node all pages and the free ones.
const SHOW: &str = "find /sys/fs/cgroup -type d
    cat /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
    tail -n +2 /proc/sysvipc/shm
    ls -A /dev/shm
    grep . /sys/devices/system/node/node*/hugepages/*/*_hugepages";

/// What the kernel showed when this was created.
pub(super) struct KernelState<'l> {
    laboratory: &'l Laboratory,
    shown: String,
}

impl<'l> KernelState<'l> {
    /// Reads it.
    pub(super) fn read(laboratory: &'l Laboratory) -> Self {
        let shown = laboratory.script(SHOW).with_code(0).stdout;
        KernelState { laboratory, shown }
    }

    /// Asserts that nothing is left of the laboratory and that the kernel shows the same as before.
    #[track_caller]
    pub(super) fn is_unchanged(&self) {
        self.laboratory.nothing_is_left();
        let now = Self::read(self.laboratory).shown;
        assert_eq!(now, self.shown, "what the kernel shows has changed");
    }
}

/// Returns the version of the cgroups that have cpusets.
pub(super) fn cgroup_version() -> u64 {
    let is_unified = fs::exists("/sys/fs/cgroup/cgroup.controllers").unwrap();
    if is_unified { 2 } else { 1 }
}
