//! Machines that are rare or do not exist yet, each unusual in one way, and what they and other
//! machines written by hand are put together from.

use model::CpuSet;

use crate::Machine;
use crate::article_machines::uniform_distances;
use crate::machine::{Cache, Core, Device, HugePages, Memory, Node, cpus};

/// Every unusual machine with its name.
pub fn all() -> Vec<(&'static str, Machine)> {
    vec![
        ("sparse-ids", sparse_ids()),
        ("memory-only", memory_only()),
        ("cpu-only", cpu_only()),
        ("zero-bytes", zero_bytes()),
        ("no-node-directory", no_node_directory()),
        ("offline-cpus", offline_cpus()),
        ("asymmetric", asymmetric()),
        ("one-node", one_node()),
        ("huge", huge()),
    ]
}

pub(crate) const GIB: u64 = 1024;

pub(crate) fn node(id: u32, list: &str, total_mib: u64) -> Node {
    Node {
        id,
        cpus: cpus(list),
        memory: Some(Memory {
            total_mib,
            free_mib: total_mib / 2,
        }),
        huge_pages: Vec::new(),
    }
}

fn device(address: &'static str, class: &'static str, name: &'static str, node: i32) -> Device {
    Device {
        address,
        class,
        name,
        node,
    }
}

pub(crate) fn cache(level: u32, kind: &'static str, size_kib: u32, is_shared: bool) -> Cache {
    Cache {
        level,
        kind,
        size_kib,
        is_shared,
    }
}

/// Cores of one thread, all in `package`.
pub(crate) fn single_threaded(package: u32, list: &str) -> Vec<Core> {
    let cpus = cpus(list);
    let cores = (0..).zip(&cpus);
    cores
        .map(|(core, cpu)| Core {
            package,
            core,
            cpus: CpuSet::of(cpu),
        })
        .collect()
}

/// Cores of two threads beside each other.
pub(crate) fn pairs(package: u32, list: &str) -> Vec<Core> {
    let cpus: Vec<_> = cpus(list).iter().collect();
    let pairs = (0..).zip(cpus.chunks(2));
    pairs
        .map(|(core, pair)| Core {
            package,
            core,
            cpus: pair.iter().copied().collect(),
        })
        .collect()
}

/// Nothing is unusual here: two sockets of two cores of two threads.
pub(crate) fn two_sockets() -> Machine {
    Machine {
        cpu_model: "Example CPU",
        nodes: vec![node(0, "0-3", 64 * GIB), node(1, "4-7", 64 * GIB)],
        distances: Some(uniform_distances(2, 21)),
        cores: [pairs(0, "0-3"), pairs(1, "4-7")].concat(),
        caches: vec![
            cache(1, "Data", 32, false),
            cache(2, "Unified", 1024, false),
            cache(3, "Unified", 32_768, true),
        ],
        ..Machine::default()
    }
}

/// Node ids with gaps, as partitions of large servers have them.
pub(crate) fn sparse_ids() -> Machine {
    let ids = [0, 8, 250, 251, 252, 253, 254, 255];
    let list = |index: u32| format!("{}-{}", 16 * index, 16 * index + 1);
    Machine {
        cpu_model: "POWER9, altivec supported",
        nodes: (0..)
            .zip(ids)
            .map(|(index, id)| node(id, &list(index), 64 * GIB))
            .collect(),
        distances: Some(uniform_distances(8, 40)),
        cores: (0..8)
            .flat_map(|index| single_threaded(index, &list(index)))
            .collect(),
        ..Machine::default()
    }
}

/// Two sockets and a CXL expander.
pub fn memory_only() -> Machine {
    Machine {
        cpu_model: "Example CPU",
        nodes: vec![
            node(0, "0-3", 64 * GIB),
            node(1, "4-7", 64 * GIB),
            node(2, "", 128 * GIB),
        ],
        distances: Some(vec![vec![10, 21, 14], vec![21, 10, 24], vec![14, 24, 10]]),
        cores: [single_threaded(0, "0-3"), single_threaded(1, "4-7")].concat(),
        files: vec![
            ("proc/sys/kernel/numa_balancing", "2\n"),
            ("sys/kernel/mm/numa/demotion_enabled", "true\n"),
        ],
        ..Machine::default()
    }
}

/// Two sockets, one without memory: no meminfo at all.
pub(crate) fn cpu_only() -> Machine {
    let mut machine = Machine {
        cpu_model: "Example CPU",
        nodes: vec![node(0, "0-3", 64 * GIB), node(1, "4-7", 0)],
        distances: Some(uniform_distances(2, 20)),
        cores: [single_threaded(0, "0-3"), single_threaded(1, "4-7")].concat(),
        ..Machine::default()
    };
    machine.memory = machine.nodes[0].memory;
    machine.nodes[1].memory = None;
    machine
}

/// Two sockets, one whose meminfo says 0.
pub(crate) fn zero_bytes() -> Machine {
    Machine {
        cpu_model: "Example CPU",
        nodes: vec![node(0, "0-3", 64 * GIB), node(1, "4-7", 0)],
        distances: Some(uniform_distances(2, 20)),
        cores: [single_threaded(0, "0-3"), single_threaded(1, "4-7")].concat(),
        ..Machine::default()
    }
}

/// A kernel built without NUMA, in the cgroup v1 times, with cpufreq and devices.
pub fn no_node_directory() -> Machine {
    Machine {
        cpu_model: "Example CPU",
        cores: single_threaded(0, "0-3"),
        memory: Some(Memory {
            total_mib: 8 * GIB,
            free_mib: 3 * GIB,
        }),
        devices: vec![
            device("0000:01:00.0", "0x020000", "net/eth0", -1),
            device("0000:02:00.0", "0x010802", "nvme/nvme0", -1),
        ],
        files: vec![
            (
                "proc/mounts",
                "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n",
            ),
            ("proc/cmdline", "root=/dev/sda1 numa=off\n"),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "performance\n",
            ),
            (
                "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
                "powersave\n",
            ),
            (
                "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                "8\n",
            ),
            (
                "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
                "5\n",
            ),
        ],
        ..Machine::default()
    }
}

/// Two sockets, of whose sixteen CPUs five are off; devices on both; two sizes of huge pages.
pub fn offline_cpus() -> Machine {
    let pools = |total| {
        vec![
            HugePages {
                page_kib: 2048,
                total,
                free: total / 2,
            },
            HugePages {
                page_kib: 1 << 20,
                total: 4,
                free: 4,
            },
        ]
    };
    let two = |package, core, list| Core {
        package,
        core,
        cpus: cpus(list),
    };
    let mut machine = Machine {
        cpu_model: "Example CPU",
        nodes: vec![
            node(0, "0,2,4,8,10,12", 64 * GIB),
            node(1, "1,3,5,9,11", 64 * GIB),
        ],
        distances: Some(uniform_distances(2, 21)),
        cores: vec![
            two(0, 0, "0,8"),
            two(0, 1, "2,10"),
            two(0, 2, "4,12"),
            two(1, 0, "1,9"),
            two(1, 1, "3,11"),
            two(1, 2, "5"),
        ],
        caches: vec![
            cache(1, "Data", 48, false),
            cache(1, "Instruction", 32, false),
            cache(2, "Unified", 2048, false),
            cache(3, "Unified", 107_520, true),
        ],
        offline_cpus: cpus("6-7,13-15"),
        devices: vec![
            device("0000:3b:00.0", "0x020000", "net/ens1f0", 0),
            device("0000:5e:00.0", "0x010802", "nvme/nvme0", 0),
            device("0000:af:00.0", "0x020700", "infiniband/mlx5_0", 1),
            device("0000:d8:00.0", "0x030200", "drm/card0", 1),
            device("0000:ff:00.0", "0x060000", "other/x", 1),
        ],
        ..Machine::default()
    };
    machine.nodes[0].huge_pages = pools(1024);
    machine.nodes[1].huge_pages = pools(512);
    machine
}

/// A firmware that writes nonsense: below 10, unreachable, and other ways back than forth.
pub fn asymmetric() -> Machine {
    Machine {
        cpu_model: "Example CPU",
        nodes: (0..3)
            .map(|id| node(id, &id.to_string(), 64 * GIB))
            .collect(),
        distances: Some(vec![vec![10, 20, 255], vec![30, 10, 40], vec![255, 9, 10]]),
        cores: (0..3)
            .flat_map(|id| single_threaded(id, &id.to_string()))
            .collect(),
        ..Machine::default()
    }
}

/// What most developers have.
pub fn one_node() -> Machine {
    Machine {
        cpu_model: "Example CPU",
        nodes: vec![node(0, "0-7", 16 * GIB)],
        distances: Some(vec![vec![10]]),
        cores: (0..4)
            .map(|core| Core {
                package: 0,
                core,
                cpus: cpus(&format!("{core},{}", core + 4)),
            })
            .collect(),
        ..Machine::default()
    }
}

/// 2048 CPUs in 128 nodes: four nodes to a package, eight packages to an enclosure.
pub fn huge() -> Machine {
    let list = |id: u32| {
        format!(
            "{}-{},{}-{}",
            8 * id,
            8 * id + 7,
            1024 + 8 * id,
            1031 + 8 * id
        )
    };
    let core = |cpu: u32| Core {
        package: cpu / 32,
        core: cpu % 32,
        cpus: cpus(&format!("{cpu},{}", 1024 + cpu)),
    };
    let distance = |from: u32, to: u32| match (from, to) {
        (from, to) if from == to => 10,
        (from, to) if from / 4 == to / 4 => 12,
        (from, to) if from / 32 == to / 32 => 21,
        _ => 42,
    };
    Machine {
        cpu_model: "Example CPU",
        nodes: (0..128).map(|id| node(id, &list(id), 256 * GIB)).collect(),
        distances: Some(
            (0..128)
                .map(|from| (0..128).map(|to| distance(from, to)).collect())
                .collect(),
        ),
        cores: (0..1024).map(core).collect(),
        ..Machine::default()
    }
}
