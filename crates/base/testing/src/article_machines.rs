//! The machines of the articles whose experiments numalab repeats. Each lists the values that the
//! article prints; the rest is filled in, or left out where it cannot be known.

use model::{CpuId, CpuSet};

use crate::Machine;
use crate::machine::{Cache, Core, HugePages, Memory, Node, cpus};

/// The caches of a processor: 32 KiB each for data and instructions and 256 KiB per core, and one
/// shared by all cores of the package.
fn caches(shared_kib: u32) -> Vec<Cache> {
    let own = |level, kind, size_kib| Cache {
        level,
        kind,
        size_kib,
        is_shared: false,
    };
    vec![
        own(1, "Data", 32),
        own(1, "Instruction", 32),
        own(2, "Unified", 256),
        Cache {
            level: 3,
            kind: "Unified",
            size_kib: shared_kib,
            is_shared: true,
        },
    ]
}

/// Cores of two threads each: the first half of `cpus` are first threads, the second half their
/// siblings.
fn cores_of_two(package: u32, core_ids: &[u32], cpus: &CpuSet) -> Vec<Core> {
    let cpus = cpus.as_slice();
    let threads = |index: usize| {
        [cpus[index], cpus[index + core_ids.len()]]
            .into_iter()
            .collect()
    };
    let ids = core_ids.iter().enumerate();
    ids.map(|(index, core)| Core {
        package,
        core: *core,
        cpus: threads(index),
    })
    .collect()
}

/// Eight nodes, of articles 000 and 001 (bdrouvot, January 2015).
///
/// Printed: CPUs, memory and distances (`numactl --hardware`), huge pages with the SGA in node 0
/// (`grep -i HugePages`), processor, packages and core ids (`cpu_topology`), caches (`lscpu`).
/// Filled in: which CPUs are siblings (the first ten CPUs of a node with the last ten, in order:
/// their core ids agree), the extent of caches, 2 MiB pages, kernel settings.
pub fn eight_nodes() -> Machine {
    const CORE_IDS: [u32; 10] = [0, 1, 2, 8, 9, 16, 17, 18, 24, 25];
    // CPUs, package, free MiB, huge pages, free huge pages. Node 4 has CPU 0.
    let printed = [
        ("1-10,41-50", 4, 45326, 39303, 23589),
        ("11-20,51-60", 5, 46136, 39302, 39046),
        ("21-30,61-70", 6, 40572, 39302, 39047),
        ("31-40,71-80", 7, 47145, 39302, 39047),
        ("0,81-89,120-129", 0, 40573, 39302, 39047),
        ("90-99,130-139", 1, 45564, 39302, 39047),
        ("100-109,140-149", 2, 20592, 39302, 39047),
        ("110-119,150-159", 3, 44170, 39302, 39047),
    ];
    let node = |(id, &(list, _, free_mib, total, free)): (u32, &(&str, u32, u64, u64, u64))| {
        let total_mib = if id == 4 { 132_836 } else { 132_864 };
        Node {
            id,
            cpus: cpus(list),
            memory: Some(Memory {
                total_mib,
                free_mib,
            }),
            huge_pages: vec![HugePages {
                page_kib: 2048,
                total,
                free,
            }],
        }
    };
    let distance = |from: usize, to: usize| match (from, to) {
        (from, to) if from == to => 10,
        (from, to) if from / 4 != to / 4 => 22,
        (from, to) if from / 2 == to / 2 => 13,
        _ => 12,
    };
    Machine {
        cpu_model: "Intel(R) Xeon(R) CPU E7- 4850  @ 2.00GHz",
        nodes: (0..).zip(&printed).map(node).collect(),
        distances: Some(
            (0..8)
                .map(|from| (0..8).map(|to| distance(from, to)).collect())
                .collect(),
        ),
        cores: printed
            .iter()
            .flat_map(|(list, package, ..)| cores_of_two(*package, &CORE_IDS, &cpus(list)))
            .collect(),
        caches: caches(24576),
        ..Machine::default()
    }
}

/// Four nodes, of article 002 (January 2015).
///
/// Printed: CPUs, memory and distances (`numactl --hardware`), the name of the processor, the sizes
/// of the caches. Filled in: one package for each node, one thread for each core, core ids, kernel
/// settings.
pub fn four_nodes() -> Machine {
    let memory = [
        (32733, 29452),
        (32768, 29803),
        (32768, 29796),
        (32767, 29771),
    ];
    let node = |(id, (total_mib, free_mib)): (u32, (u64, u64))| Node {
        id,
        cpus: cpus(&format!("{}-{}", 8 * id, 8 * id + 7)),
        memory: Some(Memory {
            total_mib,
            free_mib,
        }),
        huge_pages: Vec::new(),
    };
    let core = |cpu| Core {
        package: cpu / 8,
        core: cpu % 8,
        cpus: CpuSet::of(CpuId(cpu)),
    };
    Machine {
        cpu_model: "Intel E5-4627",
        nodes: (0..).zip(memory).map(node).collect(),
        distances: Some(uniform_distances(4, 21)),
        cores: (0..32).map(core).collect(),
        caches: caches(16 << 10),
        ..Machine::default()
    }
}

/// 32 nodes, of article 003 (an SGI UV 300RL, summer of 2016).
///
/// Printed: 32 sockets, 576 cores, 1152 threads, and that node 25 has the CPUs 450-467 and
/// 1026-1043, from which the CPUs of the other nodes follow. Filled in: packages and core ids,
/// kernel settings. Left out, because the article does not print them: distances, memory, caches,
/// the name of the processor.
pub fn thirty_two_nodes() -> Machine {
    let list = |node: u32| {
        let (first, second) = (18 * node, 576 + 18 * node);
        cpus(&format!("{first}-{},{second}-{}", first + 17, second + 17))
    };
    let core_ids: Vec<u32> = (0..18).collect();
    Machine {
        nodes: (0..32)
            .map(|id| Node {
                id,
                cpus: list(id),
                ..Node::default()
            })
            .collect(),
        cores: (0..32)
            .flat_map(|node| cores_of_two(node, &core_ids, &list(node)))
            .collect(),
        ..Machine::default()
    }
}

/// Two nodes, of article 004 (an HP DL385 with Opterons), before the instance was started.
///
/// Printed: memory (`numactl --hardware`, of a version that did not show CPUs or distances). Filled
/// in: one CPU for each node, packages, kernel settings. Left out: distances, caches, the name of
/// the processor.
pub fn two_nodes() -> Machine {
    let node = |id, total_mib, free_mib| Node {
        id,
        cpus: CpuSet::of(CpuId(id)),
        memory: Some(Memory {
            total_mib,
            free_mib,
        }),
        huge_pages: Vec::new(),
    };
    let core = |id| Core {
        package: id,
        core: 0,
        cpus: CpuSet::of(CpuId(id)),
    };
    Machine {
        nodes: vec![node(0, 5119, 3587), node(1, 4095, 3956)],
        cores: (0..2).map(core).collect(),
        ..Machine::default()
    }
}

/// A table in which all other nodes are equally far.
pub(crate) fn uniform_distances(nodes: usize, far: u32) -> Vec<Vec<u32>> {
    let row = |from| {
        (0..nodes)
            .map(|to| if from == to { 10 } else { far })
            .collect()
    };
    (0..nodes).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thirty_two_nodes_agree_with_what_the_article_prints() {
        let machine = thirty_two_nodes();
        assert_eq!(machine.nodes[25].cpus.to_string(), "450-467,1026-1043");
        assert_eq!(machine.cores.len(), 576);
        assert_eq!(
            machine
                .nodes
                .iter()
                .map(|node| node.cpus.len())
                .sum::<usize>(),
            1152
        );
    }

    /// Some columns of the table in article 001: package and core id by CPU.
    #[test]
    fn the_eight_nodes_agree_with_the_table_of_article_001() {
        let machine = eight_nodes();
        let check = |cpu: u32, package: u32, core_id: u32| {
            let core = machine
                .cores
                .iter()
                .find(|core| core.cpus.contains(CpuId(cpu)))
                .unwrap();
            assert_eq!((core.package, core.core), (package, core_id), "CPU {cpu}");
        };
        for (cpu, package, core_id) in [
            (0, 0, 0),
            (1, 4, 0),
            (2, 4, 1),
            (10, 4, 25),
            (11, 5, 0),
            (41, 4, 0),
            (50, 4, 25),
            (80, 7, 25),
            (81, 0, 1),
            (89, 0, 25),
            (90, 1, 0),
            (120, 0, 0),
            (129, 0, 25),
            (159, 3, 25),
        ] {
            check(cpu, package, core_id);
        }
        assert_eq!(machine.cores.len(), 80);
    }
}
