//! Machines whose kernel or capture leaves something out or contradicts itself, each in one way. All
//! are written by hand, in the forms that kernels print.

use model::CpuSet;

use crate::article_machines::uniform_distances;
use crate::machine::{Core, cpus};
use crate::unusual_machines::{GIB, cache, node, single_threaded};
use crate::variants::{as_linux_2_6_18, mask, with_masks, with_nul};
use crate::{Machine, Tree};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// Every incomplete machine with its name.
pub fn all() -> Vec<(&'static str, Tree)> {
    vec![
        ("linux-2.6.18", linux_2_6_18()),
        ("copied-with-nul", with_nul(&two_sockets().tree())),
        ("power", power()),
        ("mainframe", mainframe()),
        ("itanium", itanium()),
        ("sparc", sparc()),
        ("riscv", riscv()),
        ("arm", arm()),
        ("arm64", arm64()),
        ("loongarch", loongarch()),
        ("caches-without-sharers", caches_without_sharers()),
        ("memory-total-only", memory_total_only()),
        ("longer-distances", longer_distances()),
        ("shorter-distances", shorter_distances()),
        ("container-view", container_view()),
        ("cpus-in-two-nodes", cpus_in_two_nodes()),
        ("dies-only", dies_only()),
        ("memory-side-cache", memory_side_cache()),
        ("nodes-without-cpu-lists", nodes_without_cpu_lists()),
    ]
}

/// Cores of two threads beside each other.
fn pairs(package: u32, list: &str) -> Vec<Core> {
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

/// Nothing is missing here: two sockets of two cores of two threads.
fn two_sockets() -> Machine {
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

/// The CPUs of each package, for every CPU, in files of this name below `topology`; no package has a
/// number.
fn packages_by_cpus(tree: &mut Tree, cores: &[Core], name: &str, of: impl Fn(&CpuSet) -> String) {
    for core in cores {
        let same = cores.iter().filter(|other| other.package == core.package);
        let package: CpuSet = same.flat_map(|core| &core.cpus).collect();
        for cpu in &core.cpus {
            let topology = format!("{CPU}/cpu{cpu}/topology");
            tree.set(&format!("{topology}/physical_package_id"), "-1\n");
            tree.set(&format!("{topology}/{name}"), of(&package));
        }
    }
}

fn list(cpus: &CpuSet) -> String {
    format!("{cpus}\n")
}

/// The content of every file of this name anywhere.
fn replace(tree: &mut Tree, name: &str, content: &str) {
    let end = format!("/{name}");
    let paths = tree.paths().filter(|path| path.ends_with(&end));
    let paths: Vec<String> = paths.map(str::to_owned).collect();
    for path in paths {
        tree.set(&path, content);
    }
}

/// Takes every file of this name away.
fn remove(tree: &mut Tree, name: &str) {
    let end = format!("/{name}");
    let paths = tree.paths().filter(|path| path.ends_with(&end));
    let paths: Vec<String> = paths.map(str::to_owned).collect();
    for path in paths {
        tree.remove(&path);
    }
}

/// Four sockets under the kernel of 2006: masks as wide as the kernel can have CPUs, a blank line
/// before each meminfo of a node, huge pages only in these.
fn linux_2_6_18() -> Tree {
    let machine = Machine {
        cpu_model: "Dual Core AMD Opteron(tm) Processor 865",
        nodes: (0..4)
            .map(|id| node(id, &format!("{}-{}", 2 * id, 2 * id + 1), 4 * GIB))
            .collect(),
        distances: Some(uniform_distances(4, 20)),
        cores: (0..4)
            .flat_map(|id| single_threaded(id, &format!("{}-{}", 2 * id, 2 * id + 1)))
            .collect(),
        caches: vec![
            cache(1, "Data", 64, false),
            cache(2, "Unified", 1024, false),
        ],
        ..Machine::default()
    };
    let mut tree = as_linux_2_6_18(&machine.tree());
    for id in 0..4_u32 {
        let wide = format!("{}{:08x}\n", "00000000,".repeat(7), 3_u32 << (2 * id));
        tree.set(&format!("{NODE}/node{id}/cpumap"), wide);
        tree.set(
            &format!("{NODE}/node{id}/meminfo"),
            format!(
                "\nNode {id} MemTotal:      4194304 kB\nNode {id} MemFree:       2097152 kB\n\
                 Node {id} MemUsed:       2097152 kB\nNode {id} HugePages_Total:   256\n\
                 Node {id} HugePages_Free:    128\n"
            ),
        );
    }
    tree.set(
        "proc/meminfo",
        "MemTotal:     16777216 kB\nMemFree:       8388608 kB\nHugePages_Total:  1024\n\
         HugePages_Free:    512\nHugePages_Rsvd:      0\nHugepagesize:     2048 kB\n",
    );
    tree
}

/// POWER8 with four of eight threads of each core online: nodes list all CPUs and only as masks,
/// packages have no numbers, CPUs say for themselves that they are offline.
fn power() -> Tree {
    let core = |package, core, list| Core {
        package,
        core,
        cpus: cpus(list),
    };
    let machine = Machine {
        nodes: vec![
            node(0, "0-3,8-11", 64 * GIB),
            node(8, "16-19,24-27", 64 * GIB),
        ],
        distances: Some(uniform_distances(2, 40)),
        cores: vec![
            core(0, 8, "0-3"),
            core(0, 16, "8-11"),
            core(1, 72, "16-19"),
            core(1, 80, "24-27"),
        ],
        caches: vec![
            cache(1, "Data", 64, false),
            cache(3, "Unified", 8192, false),
        ],
        offline_cpus: cpus("4-7,12-15,20-23,28-31"),
        files: vec![(
            "proc/cpuinfo",
            "processor\t: 0\ncpu\t\t: POWER8E (raw), altivec supported\n\
             clock\t\t: 3690.000000MHz\nrevision\t: 2.1 (pvr 004b 0201)\n\n\
             timebase\t: 512000000\nplatform\t: PowerNV\n",
        )],
        ..Machine::default()
    };
    let mut tree = with_masks(&machine.tree());
    packages_by_cpus(&mut tree, &machine.cores, "core_siblings", mask);
    for (id, list) in [(0, "0-15"), (8, "16-31")] {
        tree.set(&format!("{NODE}/node{id}/cpumap"), mask(&cpus(list)));
    }
    for name in ["online", "offline", "present", "possible"] {
        tree.remove(&format!("{CPU}/{name}"));
    }
    tree
}

/// An LPAR of four processors, two of them on standby: no distances, no numbers of packages, and no
/// free memory of the node.
fn mainframe() -> Tree {
    let machine = Machine {
        nodes: vec![node(0, "0-1", 8 * GIB)],
        cores: single_threaded(0, "0-1"),
        caches: vec![cache(1, "Data", 128, false)],
        offline_cpus: cpus("2-3"),
        files: vec![(
            "proc/cpuinfo",
            "vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 3241.00\n\
             features\t: esan3 zarch stfle msa\n\
             processor 0: version = 00,  identification = 0A1B2C,  machine = 8561\n\
             processor 1: version = 00,  identification = 0A1B2C,  machine = 8561\n",
        )],
        ..Machine::default()
    };
    let mut tree = with_masks(&machine.tree());
    packages_by_cpus(&mut tree, &machine.cores, "core_siblings", mask);
    remove(&mut tree, "physical_package_id");
    tree.set(
        &format!("{NODE}/node0/meminfo"),
        "Node 0 MemTotal:        8388608 kB\n",
    );
    tree
}

/// A kernel that fills the masks of the first caches only.
fn itanium() -> Tree {
    let machine = Machine {
        files: vec![(
            "proc/cpuinfo",
            "processor  : 0\nvendor     : GenuineIntel\narch       : IA-64\nfamily     : 32\n\
             model      : 1\nrevision   : 1\narchrev    : 0\n",
        )],
        ..two_sockets()
    };
    let mut tree = as_linux_2_6_18(&machine.tree());
    for cpu in 0..8 {
        tree.set(
            &format!("{CPU}/cpu{cpu}/cache/index2/shared_cpu_map"),
            "00000000\n",
        );
    }
    tree
}

/// One node implied, no caches, and no file that says where CPUs sit.
fn sparc() -> Tree {
    let machine = Machine {
        cores: single_threaded(0, "0-3"),
        memory: two_sockets().nodes[0].memory,
        files: vec![(
            "proc/cpuinfo",
            "cpu\t\t: UltraSparc T2 (Niagara2)\nfpu\t\t: UltraSparc T2 integrated FPU\n\
             type\t\t: sun4v\nncpus probed\t: 4\nncpus active\t: 4\n",
        )],
        ..Machine::default()
    };
    let mut tree = machine.tree();
    for cpu in 0..4 {
        tree.remove(&format!("{CPU}/cpu{cpu}/topology"));
        tree.set(&format!("{CPU}/cpu{cpu}/clock_tick"), "1167000000\n");
    }
    tree
}

/// A kernel that knows nothing of packages says that each CPU is one, without a number.
fn riscv() -> Tree {
    let machine = Machine {
        cores: single_threaded(0, "0-3"),
        memory: two_sockets().nodes[0].memory,
        files: vec![(
            "proc/cpuinfo",
            "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\n\
             uarch\t\t: sifive,u74-mc\n\nprocessor\t: 1\nhart\t\t: 2\n",
        )],
        ..Machine::default()
    };
    let mut tree = machine.tree();
    for cpu in 0..4 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        tree.set(&format!("{topology}/physical_package_id"), "-1\n");
        tree.set(&format!("{topology}/package_cpus_list"), format!("{cpu}\n"));
    }
    tree
}

/// A board of two cores with the name of the processor in an old place.
fn arm() -> Tree {
    let machine = Machine {
        cores: single_threaded(0, "0-1"),
        memory: two_sockets().nodes[0].memory,
        files: vec![(
            "proc/cpuinfo",
            "Processor\t: ARMv7 Processor rev 1 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 1595.80\n\n\
             processor\t: 1\nBogoMIPS\t: 1595.80\n\nFeatures\t: swp half thumb\n\
             CPU implementer\t: 0x41\nCPU architecture: 7\n",
        )],
        ..Machine::default()
    };
    with_masks(&machine.tree())
}

/// Two sockets that name themselves by numbers, with packages by their CPUs.
fn arm64() -> Tree {
    let machine = Machine {
        files: vec![(
            "proc/cpuinfo",
            "processor\t: 0\nBogoMIPS\t: 200.00\nFeatures\t: fp asimd evtstrm\n\
             CPU implementer\t: 0x48\nCPU architecture: 8\nCPU variant\t: 0x1\n\
             CPU part\t: 0xd01\nCPU revision\t: 0\n",
        )],
        ..two_sockets()
    };
    let mut tree = machine.tree();
    packages_by_cpus(&mut tree, &machine.cores, "package_cpus_list", list);
    tree
}

fn loongarch() -> Tree {
    let machine = Machine {
        files: vec![(
            "proc/cpuinfo",
            "system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\npackage\t\t\t: 0\n\
             core\t\t\t: 0\nCPU Family\t\t: Loongson-64bit\n\
             Model Name\t\t: Loongson-3C5000\nCPU Revision\t\t: 0x10\n",
        )],
        ..two_sockets()
    };
    machine.tree()
}

/// Of no cache is said who shares it; those of the last level have numbers.
fn caches_without_sharers() -> Tree {
    let mut tree = two_sockets().tree();
    remove(&mut tree, "shared_cpu_list");
    for cpu in 0..8 {
        let number = cpu / 4;
        tree.set(
            &format!("{CPU}/cpu{cpu}/cache/index2/id"),
            format!("{number}\n"),
        );
    }
    tree.remove(&format!("{CPU}/cpu7/cache/index0/type"));
    tree
}

/// Meminfo of nodes that says little, and none of the machine.
fn memory_total_only() -> Tree {
    let mut tree = two_sockets().tree();
    tree.remove("proc/meminfo")
        .remove("sys/kernel/mm/hugepages");
    for (id, text) in [
        (
            0,
            "Node 0 MemTotal:       67108864 kB\nNode 0 HugePages_Total:     4\n",
        ),
        (1, "Node 1 MemUsed:        33554432 kB\n"),
    ] {
        tree.set(&format!("{NODE}/node{id}/meminfo"), text);
    }
    tree
}

/// Of four nodes one went offline after another: rows have four and five distances.
fn longer_distances() -> Tree {
    let machine = Machine {
        cpu_model: "Example CPU",
        nodes: [0, 2, 3]
            .map(|id| node(id, &id.to_string(), 64 * GIB))
            .to_vec(),
        cores: single_threaded(0, "0,2-3"),
        ..Machine::default()
    };
    let mut tree = machine.tree();
    for (id, row) in [
        (0, "10 40 20 30\n"),
        (2, "20 40 10 30\n"),
        (3, "30 40 30 10 50\n"),
    ] {
        tree.set(&format!("{NODE}/node{id}/distance"), row);
    }
    tree
}

/// Rows of the time before node 2 came, one of them cut.
fn shorter_distances() -> Tree {
    let machine = Machine {
        cpu_model: "Example CPU",
        nodes: (0..3)
            .map(|id| node(id, &id.to_string(), 64 * GIB))
            .collect(),
        cores: single_threaded(0, "0-2"),
        ..Machine::default()
    };
    let mut tree = machine.tree();
    for (id, row) in [(0, "10 20\n"), (1, "20 10\n"), (2, "30")] {
        tree.set(&format!("{NODE}/node{id}/distance"), row);
    }
    tree
}

/// 176 CPUs in the lists of nodes, 32 of them online.
fn container_view() -> Tree {
    let machine = Machine {
        cpu_model: "Example CPU",
        nodes: vec![node(0, "0-15", 64 * GIB), node(8, "88-103", 64 * GIB)],
        distances: Some(uniform_distances(2, 40)),
        cores: [pairs(0, "0-15"), pairs(8, "88-103")].concat(),
        ..Machine::default()
    };
    let mut tree = machine.tree();
    tree.set(&format!("{NODE}/node0/cpulist"), "0-87\n");
    tree.set(&format!("{NODE}/node8/cpulist"), "88-175\n");
    tree
}

/// CPUs 2 to 5 are in the lists of both nodes; links say that CPUs 2 and 5 are of node 1.
fn cpus_in_two_nodes() -> Tree {
    let mut tree = two_sockets().tree();
    tree.set(&format!("{NODE}/node0/cpulist"), "0-5\n");
    tree.set(&format!("{NODE}/node1/cpulist"), "2-7\n");
    tree.set(&format!("{NODE}/node1/cpu2/online"), "1\n");
    tree.set(&format!("{CPU}/cpu5/node1/distance"), "21 10\n");
    tree
}

/// Packages are not known at all, dies by their CPUs.
fn dies_only() -> Tree {
    let machine = two_sockets();
    let mut tree = machine.tree();
    packages_by_cpus(&mut tree, &machine.cores, "die_cpus_list", list);
    tree
}

/// Two sockets whose fast memory caches slow memory.
fn memory_side_cache() -> Tree {
    let mut tree = two_sockets().tree();
    for id in 0..2 {
        let cache = format!("{NODE}/node{id}/memory_side_cache/index1");
        tree.set(&format!("{cache}/size"), "17179869184\n");
        tree.set(&format!("{cache}/line_size"), "64\n");
        tree.set(&format!("{cache}/indexing"), "0\n");
        tree.set(&format!("{cache}/write_policy"), "0\n");
    }
    tree
}

/// Nothing says which CPUs are on which of two nodes.
fn nodes_without_cpu_lists() -> Tree {
    let mut tree = two_sockets().tree();
    remove(&mut tree, "cpulist");
    replace(&mut tree, "physical_package_id", "0\n");
    tree
}
