//! Incomplete machines with processors other than x86: each names its processor in a place of its
//! own, and leaves out what its kernels leave out.

use crate::article_machines::uniform_distances;
use crate::machine::{Core, cpus};
use crate::unusual_machines::{GIB, cache, node, single_threaded, two_sockets};
use crate::variants::{
    CPU, NODE, as_linux_2_6_18, list, mask, packages_by_cpus, remove, with_masks,
};
use crate::{Machine, Tree};

/// POWER8 with four of eight threads of each core online: nodes list all CPUs and only as masks,
/// packages have no numbers, CPUs say for themselves that they are offline.
pub(crate) fn power() -> Tree {
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
pub(crate) fn mainframe() -> Tree {
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
pub(crate) fn itanium() -> Tree {
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
pub(crate) fn sparc() -> Tree {
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
pub(crate) fn riscv() -> Tree {
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
pub(crate) fn arm() -> Tree {
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
pub(crate) fn arm64() -> Tree {
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

/// A processor that is named under another key.
pub(crate) fn loongarch() -> Tree {
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
