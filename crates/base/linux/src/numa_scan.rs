//! How often the kernel's NUMA balancing looks who uses the memory of a process.

use crate::Root;

/// Where kernels since 5.13 show it (kernel/sched/debug.c, `sched_init_debug`).
const PERIOD_MAX_FILE: &str = "sys/kernel/debug/sched/numa_balancing/scan_period_max_ms";
/// What it is unless it is set: `sysctl_numa_balancing_scan_period_max` (kernel/sched/fair.c).
const PERIOD_MAX_MS: u32 = 60_000;

/// Returns the longest time between two scans of the memory of a process, in seconds of its CPU
/// time. The kernel comes to it where most of the memory that it scans is used from the node on
/// which it lies (kernel/sched/fair.c, `update_task_scan_period`). Where the kernel does not show
/// the setting (debugfs is not mounted, or closed), it is taken for the usual one.
pub fn period_max_s(root: &Root) -> f64 {
    let file = root.read_optional(PERIOD_MAX_FILE).ok().flatten();
    let period_ms: Option<u32> = file.and_then(|it| it.number().ok());
    f64::from(period_ms.unwrap_or(PERIOD_MAX_MS)) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_read_where_the_kernel_shows_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path()).unwrap();
        assert_eq!(period_max_s(&root), 60.0);
        let path = directory.path().join(PERIOD_MAX_FILE);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let set = |text: &str| {
            std::fs::write(&path, text).unwrap();
            period_max_s(&root)
        };
        assert_eq!(set("1500\n"), 1.5);
        assert_eq!(set("many\n"), 60.0);
    }
}
