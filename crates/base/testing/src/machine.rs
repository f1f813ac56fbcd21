//! A short description of a machine, and the `/sys` and `/proc` that its kernel would show: for
//! machines without a capture, such as those of the articles, and for hypothetical ones.

use std::collections::BTreeSet;

use model::{CpuId, CpuSet, NodeSet};

use crate::Tree;

/// The description of a machine. Whatever is `None` or empty here is missing in its files, too.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// `model name` in /proc/cpuinfo.
    pub cpu_model: &'static str,
    /// The nodes; none for a kernel without NUMA.
    pub nodes: Vec<Node>,
    /// The firmware's distances, in order of `nodes`.
    pub distances: Option<Vec<Vec<u32>>>,
    /// The cores of online CPUs.
    pub cores: Vec<Core>,
    /// The caches every core has or shares.
    pub caches: Vec<Cache>,
    /// CPUs that exist but are offline.
    pub offline_cpus: CpuSet,
    /// `MemTotal` and `MemFree` of /proc/meminfo; without it, the sums of the nodes.
    pub memory: Option<Memory>,
    /// PCI devices.
    pub devices: Vec<Device>,
    /// Further files with their content, which replace those made from the rest.
    pub files: Vec<(&'static str, &'static str)>,
}

/// One node.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its id.
    pub id: u32,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Its memory; without it, the node has no meminfo.
    pub memory: Option<Memory>,
    /// Its huge-page pools.
    pub huge_pages: Vec<HugePages>,
}

/// Memory in the unit of `numactl --hardware`, which calls MiB "MB".
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// All of it.
    pub total_mib: u64,
    /// Free memory.
    pub free_mib: u64,
}

/// One huge-page pool of one node.
#[derive(Clone, Copy, Debug)]
pub struct HugePages {
    /// Size of a page in kB, as in the name of the pool.
    pub page_kib: u64,
    /// Pages in the pool.
    pub total: u64,
    /// Free pages of the pool.
    pub free: u64,
}

/// One core.
#[derive(Clone, Debug)]
pub struct Core {
    /// `physical_package_id`.
    pub package: u32,
    /// `core_id`.
    pub core: u32,
    /// Its CPUs.
    pub cpus: CpuSet,
}

/// One kind of cache.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// 1 is nearest.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: &'static str,
    /// Size in KiB.
    pub size_kib: u32,
    /// Whether all cores of a package share it.
    pub is_shared: bool,
}

/// One PCI device.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Its address.
    pub address: &'static str,
    /// Its class code.
    pub class: &'static str,
    /// The kernel's name below its directory, such as `net/eth0`.
    pub name: &'static str,
    /// The kernel's `numa_node`.
    pub node: i32,
}

impl Machine {
    /// The files of the machine.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::default();
        self.set_proc(&mut tree);
        self.set_cpus(&mut tree);
        self.set_nodes(&mut tree);
        for device in &self.devices {
            let directory = format!("sys/bus/pci/devices/{}", device.address);
            tree.set(&format!("{directory}/class"), format!("{}\n", device.class));
            tree.set(
                &format!("{directory}/numa_node"),
                format!("{}\n", device.node),
            );
            tree.set(&format!("{directory}/{}/uevent", device.name), "");
        }
        for (path, content) in &self.files {
            tree.set(path, *content);
        }
        tree
    }

    fn online_cpus(&self) -> CpuSet {
        let of_cores = self.cores.iter().flat_map(|core| &core.cpus);
        let of_nodes = self.nodes.iter().flat_map(|node| &node.cpus);
        of_cores.chain(of_nodes).collect()
    }

    /// A kernel with the defaults of a current distribution.
    fn set_proc(&self, tree: &mut Tree) {
        let settings = [
            (
                "proc/cmdline",
                "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet",
            ),
            (
                "proc/mounts",
                "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec 0 0",
            ),
            ("proc/sys/kernel/numa_balancing", "1"),
            ("proc/sys/vm/zone_reclaim_mode", "0"),
            ("proc/sys/vm/swappiness", "60"),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never",
            ),
            (
                "sys/kernel/mm/transparent_hugepage/defrag",
                "always defer defer+madvise [madvise] never",
            ),
            (
                "sys/kernel/mm/transparent_hugepage/shmem_enabled",
                "always within_size advise [never] deny force",
            ),
        ];
        for (path, value) in settings {
            tree.set(path, format!("{value}\n"));
        }
        let model = format!("processor\t: 0\nmodel name\t: {}\n", self.cpu_model);
        tree.set("proc/cpuinfo", model);
        if let Some(memory) = self.memory.or_else(|| self.memory_of_nodes()) {
            tree.set(
                "proc/meminfo",
                meminfo("", memory) + "Hugepagesize:       2048 kB\n",
            );
        }
        self.set_machine_huge_pages(tree);
    }

    fn memory_of_nodes(&self) -> Option<Memory> {
        let memories: Option<Vec<Memory>> = self.nodes.iter().map(|node| node.memory).collect();
        memories
            .filter(|memories| !memories.is_empty())
            .map(|memories| Memory {
                total_mib: memories.iter().map(|memory| memory.total_mib).sum(),
                free_mib: memories.iter().map(|memory| memory.free_mib).sum(),
            })
    }

    fn set_machine_huge_pages(&self, tree: &mut Tree) {
        let pools = || self.nodes.iter().flat_map(|node| &node.huge_pages);
        let sizes: BTreeSet<u64> = pools().map(|pool| pool.page_kib).collect();
        for page_kib in sizes {
            let of_size = || pools().filter(|pool| pool.page_kib == page_kib);
            let pool = HugePages {
                page_kib,
                total: of_size().map(|pool| pool.total).sum(),
                free: of_size().map(|pool| pool.free).sum(),
            };
            set_pool(tree, "sys/kernel/mm/hugepages", &pool);
            let directory = format!("sys/kernel/mm/hugepages/hugepages-{page_kib}kB");
            tree.set(&format!("{directory}/resv_hugepages"), "0\n");
            tree.set(&format!("{directory}/nr_overcommit_hugepages"), "0\n");
        }
    }

    fn set_cpus(&self, tree: &mut Tree) {
        let directory = "sys/devices/system/cpu";
        let online = self.online_cpus();
        let present = online.union(&self.offline_cpus);
        tree.set(&format!("{directory}/online"), format!("{online}\n"));
        tree.set(
            &format!("{directory}/offline"),
            format!("{}\n", self.offline_cpus),
        );
        tree.set(&format!("{directory}/present"), format!("{present}\n"));
        tree.set(&format!("{directory}/possible"), format!("{present}\n"));
        for cpu in &self.offline_cpus {
            tree.set(&format!("{directory}/cpu{cpu}/online"), "0\n");
        }
        for core in &self.cores {
            for cpu in &core.cpus {
                self.set_cpu(tree, &format!("{directory}/cpu{cpu}"), core, cpu);
            }
        }
    }

    fn set_cpu(&self, tree: &mut Tree, directory: &str, core: &Core, cpu: CpuId) {
        let topology = format!("{directory}/topology");
        tree.set(
            &format!("{topology}/physical_package_id"),
            format!("{}\n", core.package),
        );
        tree.set(&format!("{topology}/core_id"), format!("{}\n", core.core));
        tree.set(
            &format!("{topology}/thread_siblings_list"),
            format!("{}\n", core.cpus),
        );
        for (index, cache) in self.caches.iter().enumerate() {
            let shared_by = if cache.is_shared {
                self.cpus_of_package(core.package)
            } else {
                core.cpus.clone()
            };
            debug_assert!(shared_by.contains(cpu));
            let cache_directory = format!("{directory}/cache/index{index}");
            let mut set = |name: &str, value: String| {
                tree.set(&format!("{cache_directory}/{name}"), value + "\n");
            };
            set("level", cache.level.to_string());
            set("type", cache.kind.to_owned());
            set("size", format!("{}K", cache.size_kib));
            set("coherency_line_size", "64".to_owned());
            set("shared_cpu_list", shared_by.to_string());
        }
    }

    fn cpus_of_package(&self, package: u32) -> CpuSet {
        let cores = self.cores.iter().filter(|core| core.package == package);
        cores.flat_map(|core| &core.cpus).collect()
    }

    fn set_nodes(&self, tree: &mut Tree) {
        let ids: NodeSet = self
            .nodes
            .iter()
            .map(|node| model::NodeId(node.id))
            .collect();
        if ids.is_empty() {
            return;
        }
        tree.set("sys/devices/system/node/online", format!("{ids}\n"));
        tree.set("sys/devices/system/node/possible", format!("{ids}\n"));
        for (index, node) in self.nodes.iter().enumerate() {
            let directory = format!("sys/devices/system/node/node{}", node.id);
            tree.set(&format!("{directory}/cpulist"), format!("{}\n", node.cpus));
            if let Some(memory) = node.memory {
                let prefix = format!("Node {} ", node.id);
                tree.set(&format!("{directory}/meminfo"), meminfo(&prefix, memory));
            }
            if let Some(row) = self.distances.as_ref().and_then(|rows| rows.get(index)) {
                let row: Vec<String> = row.iter().map(u32::to_string).collect();
                tree.set(&format!("{directory}/distance"), row.join(" ") + "\n");
            }
            for pool in &node.huge_pages {
                set_pool(tree, &format!("{directory}/hugepages"), pool);
            }
        }
    }
}

fn meminfo(prefix: &str, memory: Memory) -> String {
    let line = |name: &str, mib: u64| format!("{prefix}{name}: {:>14} kB\n", mib * 1024);
    line("MemTotal", memory.total_mib) + &line("MemFree", memory.free_mib)
}

fn set_pool(tree: &mut Tree, directory: &str, pool: &HugePages) {
    let directory = format!("{directory}/hugepages-{}kB", pool.page_kib);
    tree.set(
        &format!("{directory}/nr_hugepages"),
        format!("{}\n", pool.total),
    );
    tree.set(
        &format!("{directory}/free_hugepages"),
        format!("{}\n", pool.free),
    );
    tree.set(&format!("{directory}/surplus_hugepages"), "0\n");
}

/// A list of CPUs written by a test author.
///
/// # Panics
/// When it is malformed.
pub fn cpus(list: &str) -> CpuSet {
    list.parse()
        .unwrap_or_else(|error| panic!("{list:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_say_what_the_description_says() {
        let memory = Some(Memory {
            total_mib: 2,
            free_mib: 1,
        });
        let pool = HugePages {
            page_kib: 2048,
            total: 3,
            free: 2,
        };
        let machine = Machine {
            nodes: vec![
                Node {
                    id: 0,
                    cpus: cpus("0-1"),
                    memory,
                    huge_pages: vec![pool],
                },
                Node {
                    id: 4,
                    cpus: cpus("2"),
                    memory,
                    huge_pages: vec![pool],
                },
            ],
            distances: Some(vec![vec![10, 20], vec![20, 10]]),
            cores: vec![Core {
                package: 7,
                core: 1,
                cpus: cpus("0-1"),
            }],
            offline_cpus: cpus("3"),
            ..Machine::default()
        };
        let tree = machine.tree();
        let check = |path: &str, expected: &str| assert_eq!(tree.text(path), Some(expected));
        check("sys/devices/system/cpu/online", "0-2\n");
        check("sys/devices/system/cpu/present", "0-3\n");
        check(
            "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
            "0-1\n",
        );
        check("sys/devices/system/node/node4/distance", "20 10\n");
        check(
            "sys/devices/system/node/node4/meminfo",
            "Node 4 MemTotal:           2048 kB\nNode 4 MemFree:           1024 kB\n",
        );
        check(
            "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
            "6\n",
        );
        check(
            "proc/meminfo",
            "MemTotal:           4096 kB\nMemFree:           2048 kB\n\
             Hugepagesize:       2048 kB\n",
        );
    }
}
