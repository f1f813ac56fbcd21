//! Which files of a machine are captured: those that a reader of topology, memory and kernel
//! settings needs, out of thousands.

use linux::Root;

/// Paths of files. `*` stands for any name or its end, `#` for a number at the end of a name, and
/// `**` for everything below. `|` separates names of files with the same content, of which the
/// first that exists is captured: kernels that do not list CPUs have masks of them.
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
    "proc/sysvipc/shm",
    "proc/uptime",
    "proc/version",
    "proc/vmstat",
    "proc/zoneinfo",
    "sys/bus/pci/devices/*/class",
    // A device is named by its directory: one file in it that says little stands for it.
    "sys/bus/pci/devices/*/block/*/ro",
    "sys/bus/pci/devices/*/drm/*/dev",
    "sys/bus/pci/devices/*/infiniband/*/node_type",
    "sys/bus/pci/devices/*/net/*/mtu",
    "sys/bus/pci/devices/*/numa_node",
    "sys/bus/pci/devices/*/nvme/*/state",
    "sys/class/block/*/device/numa_node",
    "sys/class/dmi/id/product_name",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/net/*/device/numa_node",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/cpu/cpu#/cache/index#/coherency_line_size",
    "sys/devices/system/cpu/cpu#/cache/index#/id",
    "sys/devices/system/cpu/cpu#/cache/index#/level",
    "sys/devices/system/cpu/cpu#/cache/index#/shared_cpu_list|shared_cpu_map",
    "sys/devices/system/cpu/cpu#/cache/index#/size",
    "sys/devices/system/cpu/cpu#/cache/index#/type",
    "sys/devices/system/cpu/cpu#/cpufreq/scaling_driver",
    "sys/devices/system/cpu/cpu#/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu#/online",
    "sys/devices/system/cpu/cpu#/topology/cluster_id",
    "sys/devices/system/cpu/cpu#/topology/core_cpus_list|core_cpus",
    "sys/devices/system/cpu/cpu#/topology/core_id",
    "sys/devices/system/cpu/cpu#/topology/die_cpus_list|die_cpus",
    "sys/devices/system/cpu/cpu#/topology/die_id",
    "sys/devices/system/cpu/cpu#/topology/package_cpus_list|package_cpus|core_siblings_list\
     |core_siblings",
    "sys/devices/system/cpu/cpu#/topology/physical_package_id",
    "sys/devices/system/cpu/cpu#/topology/thread_siblings_list|thread_siblings",
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
    "sys/devices/system/node/node#/cpulist|cpumap",
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
    "sys/firmware/devicetree/base/compatible",
    "sys/firmware/devicetree/base/fw-cfg@*/compatible",
    "sys/firmware/devicetree/base/hypervisor/compatible",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/cgroup/cgroup.subtree_control",
    "sys/fs/cgroup/cpuset.cpus.effective",
    "sys/fs/cgroup/cpuset.mems.effective",
    "sys/hypervisor/type",
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

/// All paths below a root that match the patterns, in the order in which a person reviews them.
pub fn paths(root: &Root) -> Vec<String> {
    let mut paths = Vec::new();
    for pattern in PATTERNS {
        let parts: Vec<&str> = pattern.split('/').collect();
        expand(root, String::new(), &parts, &mut paths);
    }
    paths.sort_by_cached_key(|path| review_order(path));
    paths
}

fn expand(root: &Root, done: String, parts: &[&str], found: &mut Vec<String>) {
    let Some((part, rest)) = parts.split_first() else {
        found.push(done);
        return;
    };
    let below = |name: &str| match done.as_str() {
        "" => name.to_owned(),
        done => format!("{done}/{name}"),
    };
    if *part == "**" {
        everything_below(root, &done, found);
    } else if part.contains('|') {
        let mut paths = part.split('|').map(below);
        found.extend(paths.find(|path| root.require(path).is_ok()));
    } else if part.contains(['*', '#']) {
        for name in names(root, &done).iter().filter(|name| matches(part, name)) {
            expand(root, below(name), rest, found);
        }
    } else {
        expand(root, below(part), rest, found);
    }
}

fn everything_below(root: &Root, directory: &str, found: &mut Vec<String>) {
    for name in names(root, directory) {
        let path = format!("{directory}/{name}");
        match root.entries(&path) {
            Ok(Some(_)) => everything_below(root, &path, found),
            _ => found.push(path),
        }
    }
}

/// The names in a directory; none when there is no such directory, or it may not be listed.
fn names(root: &Root, directory: &str) -> Vec<String> {
    root.entries(directory).ok().flatten().unwrap_or_default()
}

/// Alphabetical by directory, with node2 before node10.
fn review_order(path: &str) -> Vec<(String, Option<u64>)> {
    path.split('/').map(split_number).collect()
}

/// `node12` as `node` and 12; a name without a number at its end as itself and none.
fn split_number(name: &str) -> (String, Option<u64>) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_string(), name[stem.len()..].parse().ok())
}

/// `node*` matches every name that begins with `node`; `node#` only `node` and digits.
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
        assert!(review_order("a/node2/z") < review_order("a/node10/b"));
        assert!(review_order("a/node2/b") < review_order("a/node2/z"));
    }

    #[test]
    fn masks_are_captured_where_there_are_no_lists() {
        let machines = testing::incomplete_machines::all();
        let (_, tree) = machines.iter().find(|(name, _)| *name == "power").unwrap();
        let unpacked = tree.expand().unwrap();
        let found = paths(&Root::at(unpacked.path()).unwrap());
        for file in [
            "node/node8/cpumap",
            "cpu/cpu3/cache/index1/shared_cpu_map",
            "cpu/cpu3/topology/core_siblings",
            "cpu/cpu3/topology/thread_siblings",
        ] {
            let path = format!("sys/devices/system/{file}");
            assert!(found.contains(&path), "{path}");
        }
    }

    #[test]
    fn a_captured_machine_is_captured_again_in_full() {
        let tree = testing::Tree::captured("two-node").unwrap();
        let unpacked = tree.expand().unwrap();
        let found = paths(&Root::at(unpacked.path()).unwrap());
        for path in ["proc/meminfo", "sys/devices/system/node/node1/distance"] {
            assert!(found.iter().any(|it| it == path), "{path}");
        }
        let known = tree.paths().filter(|path| tree.text(path).is_some());
        for path in known {
            assert!(found.iter().any(|it| it == path), "{path}");
        }
    }
}
