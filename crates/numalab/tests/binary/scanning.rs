//! How often the kernel's NUMA balancing scans processes, in a guest.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

const FOLDER: &str = "/sys/kernel/debug/sched/numa_balancing";

/// Settings of the kernel that differ until this is dropped.
pub(crate) struct Scanning(Vec<(PathBuf, String)>);

impl Scanning {
    /// Sets these, each in milliseconds of a process's CPU time (kernel/sched/fair.c):
    /// `scan_delay_ms` until its first scan, `scan_period_min_ms` and `scan_period_max_ms` between
    /// two.
    pub(crate) fn with(settings: &[(&str, u32)]) -> Self {
        if !fs::exists(FOLDER).unwrap() {
            let mount = ["-t", "debugfs", "debugfs", "/sys/kernel/debug"];
            let mounted = Command::new("mount").args(mount).status().unwrap();
            assert!(mounted.success());
        }
        let set = |(name, ms): &(&str, u32)| {
            let file = PathBuf::from(FOLDER).join(name);
            let before = fs::read_to_string(&file).unwrap();
            fs::write(&file, ms.to_string()).unwrap();
            (file, before)
        };
        Scanning(settings.iter().map(set).collect())
    }
}

impl Drop for Scanning {
    fn drop(&mut self) {
        for (file, before) in self.0.iter().rev() {
            let _ = fs::write(file, before);
        }
    }
}
