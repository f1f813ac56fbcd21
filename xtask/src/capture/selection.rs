//! Which files of a machine are captured: those that a reader of topology, memory and kernel
//! settings needs, and not the thousands of others around them.

use std::fs;
use std::path::{Path, PathBuf};

use super::entry::{Entry, read};

/// Paths of files and links. `*` stands for any name or its end, `#` for a number at the end of a
/// name, and `**` for everything below.
const PATTERNS: &[&str] = &[
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/filesystems",
    "proc/meminfo",
    "proc/mounts",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/numa_balancing_promote_rate_limit_MBps",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/perf_event_paranoid",
    "proc/sys/kernel/randomize_va_space",
    "proc/sys/kernel/sched_autogroup_enabled",
    "proc/sys/kernel/shmall",
    "proc/sys/kernel/shmmax",
    "proc/sys/vm/hugetlb_shm_group",
    "proc/sys/vm/nr_hugepages",
    "proc/sys/vm/nr_overcommit_hugepages",
    "proc/sys/vm/overcommit_memory",
    "proc/sys/vm/overcommit_ratio",
    "proc/sys/vm/swappiness",
    "proc/sys/vm/zone_reclaim_mode",
    "proc/version",
    "sys/bus/pci/devices/*/class",
    "sys/bus/pci/devices/*/numa_node",
    "sys/class/block/*/device/numa_node",
    "sys/class/dmi/id/product_name",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/net/*/device/numa_node",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/cpu/cpu#/cache/index#/coherency_line_size",
    "sys/devices/system/cpu/cpu#/cache/index#/id",
    "sys/devices/system/cpu/cpu#/cache/index#/level",
    "sys/devices/system/cpu/cpu#/cache/index#/shared_cpu_list",
    "sys/devices/system/cpu/cpu#/cache/index#/size",
    "sys/devices/system/cpu/cpu#/cache/index#/type",
    "sys/devices/system/cpu/cpu#/cpufreq/scaling_driver",
    "sys/devices/system/cpu/cpu#/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu#/node#",
    "sys/devices/system/cpu/cpu#/online",
    "sys/devices/system/cpu/cpu#/topology/cluster_id",
    "sys/devices/system/cpu/cpu#/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu#/topology/core_id",
    "sys/devices/system/cpu/cpu#/topology/die_id",
    "sys/devices/system/cpu/cpu#/topology/package_cpus_list",
    "sys/devices/system/cpu/cpu#/topology/physical_package_id",
    "sys/devices/system/cpu/cpu#/topology/thread_siblings_list",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/kernel_max",
    "sys/devices/system/cpu/offline",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/possible",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/smt/active",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/system/node/has_cpu",
    "sys/devices/system/node/has_generic_initiator",
    "sys/devices/system/node/has_memory",
    "sys/devices/system/node/has_normal_memory",
    "sys/devices/system/node/node#/access#/initiators/*",
    "sys/devices/system/node/node#/cpulist",
    "sys/devices/system/node/node#/distance",
    "sys/devices/system/node/node#/hugepages/*/free_hugepages",
    "sys/devices/system/node/node#/hugepages/*/nr_hugepages",
    "sys/devices/system/node/node#/hugepages/*/surplus_hugepages",
    "sys/devices/system/node/node#/meminfo",
    "sys/devices/system/node/node#/memory_side_cache/**",
    "sys/devices/system/node/node#/numastat",
    "sys/devices/system/node/online",
    "sys/devices/system/node/possible",
    "sys/devices/virtual/memory_tiering/*/nodelist",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/cgroup/cgroup.subtree_control",
    "sys/fs/cgroup/cpuset.cpus.effective",
    "sys/fs/cgroup/cpuset.mems.effective",
    "sys/kernel/mm/hugepages/*/free_hugepages",
    "sys/kernel/mm/hugepages/*/nr_hugepages",
    "sys/kernel/mm/hugepages/*/nr_hugepages_mempolicy",
    "sys/kernel/mm/hugepages/*/nr_overcommit_hugepages",
    "sys/kernel/mm/hugepages/*/resv_hugepages",
    "sys/kernel/mm/hugepages/*/surplus_hugepages",
    "sys/kernel/mm/mempolicy/weighted_interleave/**",
    "sys/kernel/mm/numa/**",
    "sys/kernel/mm/transparent_hugepage/defrag",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
    "sys/kernel/mm/transparent_hugepage/hugepages-*/enabled",
    "sys/kernel/mm/transparent_hugepage/hugepages-*/shmem_enabled",
    "sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "sys/kernel/mm/transparent_hugepage/shmem_enabled",
    "sys/kernel/mm/transparent_hugepage/use_zero_page",
];

/// Everything that the patterns find below a root.
pub fn collect(root: &Path) -> Vec<Entry> {
    let mut paths = Vec::new();
    for pattern in PATTERNS {
        let parts: Vec<&str> = pattern.split('/').collect();
        expand(root, PathBuf::new(), &parts, &mut paths);
    }
    paths.sort_by_cached_key(|path| review_order(path));
    paths.iter().filter_map(|path| read(root, path)).collect()
}

fn expand(root: &Path, done: PathBuf, parts: &[&str], found: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else {
        found.push(done);
        return;
    };
    if *part == "**" {
        everything_below(root, &done, found);
    } else if part.contains(['*', '#']) {
        for name in sorted_names(&root.join(&done)) {
            if matches(part, &name) {
                expand(root, done.join(name), rest, found);
            }
        }
    } else {
        expand(root, done.join(part), rest, found);
    }
}

fn everything_below(root: &Path, directory: &Path, found: &mut Vec<PathBuf>) {
    for name in sorted_names(&root.join(directory)) {
        let path = directory.join(name);
        let is_directory = fs::symlink_metadata(root.join(&path)).is_ok_and(|data| data.is_dir());
        if is_directory {
            everything_below(root, &path, found);
        } else {
            found.push(path);
        }
    }
}

/// The names in a directory, node2 before node10; none when there is no such directory.
fn sorted_names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Alphabetical by directory, with node2 before node10.
fn review_order(path: &Path) -> Vec<(String, Option<u64>)> {
    let parts = path.iter().map(|part| part.to_string_lossy());
    parts.map(|part| split_number(&part)).collect()
}

/// `node12` as `node` and 12; a name without a number at its end as itself and none.
fn split_number(name: &str) -> (String, Option<u64>) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_string(), name[stem.len()..].parse().ok())
}

/// `node*` matches every name that begins so, `node#` only `node` and digits.
fn matches(pattern: &str, name: &str) -> bool {
    if let Some(stem) = pattern.strip_suffix('#') {
        let (name_stem, number) = split_number(name);
        return number.is_some() && name_stem == stem;
    }
    pattern
        .strip_suffix('*')
        .is_some_and(|stem| name.starts_with(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_by_number_or_by_anything() {
        let cases = [
            ("*", "eth0", true),
            ("hugepages-*", "hugepages-64kB", true),
            ("hugepages-*", "enabled", false),
            ("cpu#", "cpu12", true),
            ("cpu#", "cpufreq", false),
            ("cpu#", "cpu", false),
            ("node#", "nodex1", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn node_2_stands_before_node_10() {
        let order = |path: &str| review_order(Path::new(path));
        assert!(order("a/node2/z") < order("a/node10/b"));
        assert!(order("a/node2/b") < order("a/node2/z"));
    }
}
