//! Arm servers: two sockets whose kernels have the sizes of pages that x86-64 lacks (kernel,
//! `Documentation/arch/arm64/hugetlbpage.rst`).

use crate::Machine;
use crate::article_machines::uniform_distances;
use crate::machine::{HugePages, Node};
use crate::unusual_machines::{GIB, cache, node, single_threaded};

/// Every one with its name.
pub fn all() -> [(&'static str, Machine); 2] {
    [
        ("arm64-pages-of-4-kib", pages_of_4_kib()),
        ("arm64-pages-of-64-kib", pages_of_64_kib()),
    ]
}

/// A kernel with base pages of 64 KiB, as some distributions for servers have it: huge pages of
/// 2 MiB, 512 MiB (the default) and 16 GiB.
fn pages_of_64_kib() -> Machine {
    Machine {
        nodes: sockets(&[(2048, 512, 500), (512 << 10, 16, 4), (16 << 20, 1, 1)]),
        files: vec![
            (CPUINFO, KUNPENG),
            (
                "proc/meminfo",
                "MemTotal:       134217728 kB\nMemFree:        67108864 kB\n\
                 HugePages_Total:      32\nHugePages_Free:        8\nHugepagesize:     524288 kB\n",
            ),
            (
                "proc/zoneinfo",
                "Node 0, zone   Normal\n  pages free     524288\n        low      65536\n        \
                 spanned  1048576\n        managed  1048576\n        protection: (0, 0)\n  \
                 start_pfn:           0\nNode 1, zone   Normal\n  pages free     524288\n        \
                 low      65536\n        spanned  1048576\n        managed  1048576\n        \
                 protection: (0, 0)\n  start_pfn:           1048576\n",
            ),
            (PMD_SIZE, "536870912\n"),
        ],
        ..two_sockets()
    }
}

/// A kernel with base pages of 4 KiB: huge pages of 64 KiB, 2 MiB (the default), 32 MiB and 1 GiB.
fn pages_of_4_kib() -> Machine {
    Machine {
        nodes: sockets(&[
            (64, 4096, 96),
            (2048, 512, 512),
            (32 << 10, 64, 63),
            (1 << 20, 2, 0),
        ]),
        files: vec![
            (CPUINFO, KUNPENG),
            ("proc/vmstat", "nr_free_pages 16777216\n"),
            (PMD_SIZE, "2097152\n"),
        ],
        ..two_sockets()
    }
}

const CPUINFO: &str = "proc/cpuinfo";
const KUNPENG: &str = "processor\t: 0\nBogoMIPS\t: 200.00\nFeatures\t: fp asimd evtstrm\n\
                       CPU implementer\t: 0x48\nCPU architecture: 8\nCPU variant\t: 0x1\n\
                       CPU part\t: 0xd01\nCPU revision\t: 0\n";
const PMD_SIZE: &str = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size";

fn two_sockets() -> Machine {
    Machine {
        distances: Some(uniform_distances(2, 20)),
        cores: [single_threaded(0, "0-3"), single_threaded(1, "4-7")].concat(),
        caches: vec![
            cache(1, "Data", 64, false),
            cache(2, "Unified", 512, false),
            cache(3, "Unified", 32 << 10, true),
        ],
        ..Machine::default()
    }
}

/// Two nodes with these pools: the size of a page in KiB, all pages, free ones.
fn sockets(pools: &[(u64, u64, u64)]) -> Vec<Node> {
    let pool = |&(page_kib, total, free): &(u64, u64, u64)| HugePages {
        page_kib,
        total,
        free,
    };
    let socket = |(id, list)| Node {
        huge_pages: pools.iter().map(pool).collect(),
        ..node(id, list, 64 * GIB)
    };
    [(0, "0-3"), (1, "4-7")].map(socket).to_vec()
}
