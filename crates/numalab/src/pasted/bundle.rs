//! Which files of a sosreport, a supportconfig or a capture are read, by their paths. Sources:
//! sos/report/plugins of sosreport/sos, bin/supportconfig of g23guy/supportutils 3.2.10.

use std::path::{Component, Path};

/// Beginnings of the paths of files that are read as the kernel's own.
const OF_KERNEL: [&str; 8] = [
    "sys/bus/pci/devices/",
    "sys/class/",
    "sys/devices/system/cpu/",
    "sys/devices/system/node/",
    "sys/devices/virtual/memory_tiering/",
    "sys/fs/cgroup/cpuset",
    "sys/kernel/mm/",
    "proc/",
];

/// Output of commands in a sosreport, by the name of the file; older versions have no suffix.
const OF_SOS: [&str; 5] = [
    "numactl_--hardware",
    "numactl_--show",
    "numastat",
    "numastat_-m",
    "lscpu",
];

/// Files of a supportconfig with sections.
const OF_SUPPORTCONFIG: [&str; 4] = ["memory.txt", "hardware.txt", "proc.txt", "sysfs.txt"];

/// What a file of a bundle is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// A file of the kernel at this path of its machine.
    OfKernel(String),
    /// Text.
    Text,
}

/// What to do with a file of a bundle; `None` leaves it out.
pub(super) fn kept(path: &Path) -> Option<Kept> {
    let parts: Option<Vec<&str>> = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let parts = parts?;
    // Below the folder of the bundle, if it has one.
    for start in 0..parts.len().min(3) {
        let path = parts[start..].join("/");
        if OF_KERNEL.iter().any(|it| path.starts_with(it)) {
            return Some(Kept::OfKernel(path));
        }
    }
    let name = *parts.last()?;
    let is_of_sos = parts.contains(&"sos_commands") && OF_SOS.contains(&name);
    let is_of_supportconfig = parts.len() <= 2 && OF_SUPPORTCONFIG.contains(&name);
    (is_of_sos || is_of_supportconfig).then_some(Kept::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_bundles_are_known_by_their_paths() {
        let of_kernel = |path: &str| Some(Kept::OfKernel(path.to_owned()));
        let cpulist = "sys/devices/system/node/node0/cpulist";
        let cases = [
            (
                "sosreport-a/sys/devices/system/node/node0/cpulist",
                of_kernel(cpulist),
            ),
            (
                "./sys/devices/system/node/node0/cpulist",
                of_kernel(cpulist),
            ),
            ("proc/meminfo", of_kernel("proc/meminfo")),
            (
                "sosreport-a/sos_commands/numa/numactl_--hardware",
                Some(Kept::Text),
            ),
            ("scc_host_261127_1200/memory.txt", Some(Kept::Text)),
            ("a/b/c/d/proc/meminfo", None),
            ("sosreport-a/etc/shadow", None),
            ("sosreport-a/../proc/meminfo", None),
            ("/proc/meminfo", None),
            ("sosreport-a/var/log/lscpu", None),
        ];
        for (path, expected) in cases {
            assert_eq!(kept(Path::new(path)), expected, "{path}");
        }
    }
}
