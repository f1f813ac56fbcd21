//! Machines whose kernel or capture leaves something out or contradicts itself, each in one way.
//! All are written by hand, in the forms that kernels print.

use crate::article_machines::uniform_distances;
use crate::unusual_machines::{GIB, cache, node, pairs, single_threaded, two_sockets};
use crate::variants::{
    CPU, NODE, as_linux_2_6_18, list, packages_by_cpus, remove, replace, with_nul,
};
use crate::{Machine, Tree, other_processors};

/// Every incomplete machine with its name.
pub fn all() -> Vec<(&'static str, Tree)> {
    vec![
        ("linux-2.6.18", linux_2_6_18()),
        ("copied-with-nul", with_nul(&two_sockets().tree())),
        ("power", other_processors::power()),
        ("mainframe", other_processors::mainframe()),
        ("itanium", other_processors::itanium()),
        ("sparc", other_processors::sparc()),
        ("riscv", other_processors::riscv()),
        ("arm", other_processors::arm()),
        ("arm64", other_processors::arm64()),
        ("loongarch", other_processors::loongarch()),
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
