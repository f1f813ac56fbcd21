//! One node nearly out of memory, another with plenty.

use live::{NearlyFull, NodeMemory, Room};
use model::{ByteSize, Fact, NodeHugePages, NodeId, Severity, ShellLine, shell_line};

use super::row::{Check, Row};
use crate::doctor::pools::pool_file;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "node-nearly-full",
    severity: Severity::Warning,
    about: "one node is nearly out of free memory while another node or its huge pages have plenty",
    cost: "allocations go to far nodes or wait for reclaim; bound processes are killed",
    cost_source: "Closson, \"Introducing Cyclops\", 2007; kernel, admin-guide/sysctl/vm.rst",
    checks: &[Check::Doctor(sight::free_memory, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let databases = input.database_nodes();
    let nodes = input.topology.nodes.iter().filter_map(|node| {
        Some(NodeMemory {
            node: node.id,
            all: node.memory_bytes.filter(|all| *all > 0)?,
            free: node.free_bytes?,
            usable: input.usable_bytes(node)?,
            cache: input.file_cache.get(&node.id).copied(),
            huge_pages: &node.huge_pages,
            is_for_others: databases.contains(node.id),
        })
    });
    let nodes: Vec<NodeMemory<'_>> = nodes.collect();
    let full = NearlyFull::first(&nodes)?;
    let (evidence, fix) = match full.room {
        Room::OwnPools(_) => of_own_pools(full.node),
        Room::Free(other) | Room::Available(other) => beside_another(full.node, other),
    };
    Some(Found {
        evidence,
        fix,
        ..Found::that(full.sentence())
    })
}

fn meminfo(node: NodeId) -> String {
    format!("/sys/devices/system/node/node{node}/meminfo")
}

fn free_of(node: &NodeMemory<'_>) -> Fact {
    fact(
        meminfo(node.node),
        format!("MemFree {}", ByteSize(node.free)),
    )
}

fn cache_of(node: &NodeMemory<'_>) -> Option<Fact> {
    let cache = node.much_cache()?;
    let words = format!("file cache {}", ByteSize(cache));
    Some(fact(meminfo(node.node), words))
}

fn of_own_pools(node: &NodeMemory<'_>) -> (Vec<Fact>, Vec<ShellLine>) {
    let file = |pool: &NodeHugePages, name| pool_file(node.node, pool.page_bytes, name);
    let free = node.idle_pools();
    let free = free.map(|(pool, free)| fact(file(pool, "free_hugepages"), free));
    let shrink = node.idle_pools().map(|(pool, free)| {
        let used = pool.total.saturating_sub(free);
        shell_line!("echo {} >{}", used, file(pool, "nr_hugepages"))
    });
    let why = "# unless a database that is about to start takes them, shrink the pool to the pages \
               in use (HugePages_Rsvd of /proc/meminfo are promised to programs: add them):";
    (
        std::iter::once(free_of(node)).chain(free).collect(),
        std::iter::once(ShellLine::of(why)).chain(shrink).collect(),
    )
}

fn beside_another(node: &NodeMemory<'_>, other: &NodeMemory<'_>) -> (Vec<Fact>, Vec<ShellLine>) {
    let evidence = std::iter::once(free_of(node)).chain(cache_of(node));
    let evidence = evidence.chain([free_of(other)]).chain(cache_of(other));
    let how = match node.much_cache() {
        None => {
            "# start programs bound to that node with --preferred or --interleave, not --membind"
        }
        Some(_) => {
            "# for memory that is bound to that node, the kernel gives up cache at once; memory \
             that is only preferred or local there goes to other nodes first"
        }
    };
    let fix = vec![
        ShellLine::remark(format!(
            "show what uses memory on node {} (the kernel frees file cache on demand):",
            node.node
        )),
        shell_line!(
            "grep -E 'FilePages|Shmem|AnonPages|HugePages' {}",
            meminfo(node.node)
        ),
        ShellLine::of(how),
    ];
    (evidence.collect(), fix)
}

#[cfg(test)]
mod tests {
    use linux::proc_zoneinfo::{Zone, ZoneKind};
    use model::CpuSet;

    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn a_full_node_beside_an_empty_one_is_found() {
        let mut it = machine(&[&[10, 21], &[21, 10]]);
        assert!(check(&it).is_none());
        it.topology.nodes[0].free_bytes = Some(1 << 30);
        assert!(
            check(&it)
                .unwrap()
                .message
                .starts_with("node 0 has 1 GiB free")
        );
        it.topology.nodes[1].free_bytes = Some(1 << 30);
        assert!(check(&it).is_none());
    }

    #[test]
    fn what_the_kernel_keeps_in_low_zones_is_not_free_for_programs() {
        let mut it = machine(&[&[10, 21], &[21, 10]]);
        it.topology.nodes[0].memory_bytes = Some(32 << 30);
        it.topology.nodes[0].free_bytes = Some(2 << 30);
        assert!(check(&it).is_none());
        let pages = |mib: u64| (mib << 20) / linux::process::page_bytes();
        let zone = |kind, free, kept| Zone {
            kind,
            free: pages(free),
            kept: pages(kept),
            ..Zone::default()
        };
        it.zones = vec![
            zone(ZoneKind::OfDevices, 1948, 1900),
            zone(ZoneKind::Normal, 100, 0),
        ];
        let expected = "node 0 has 2 GiB free of 32 GiB, but programs get 148 MiB of that: the \
                        rest is in zones of low addresses, which the kernel keeps for those who \
                        can use no others, node 1 has 50 GiB free";
        assert_eq!(check(&it).unwrap().message, expected);
        it.zones[1].free = pages(1000);
        assert!(check(&it).is_none());
    }

    #[test]
    fn file_cache_of_a_full_node_is_told() {
        let mut it = machine(&[&[10, 21], &[21, 10]]);
        it.topology.nodes[0].free_bytes = Some(1 << 30);
        it.file_cache = [(NodeId(0), 10 << 30)].into();
        let told = |it: &DoctorInput| {
            let found = check(it).unwrap();
            (found.message.contains("file cache"), found.evidence.len())
        };
        assert_eq!(told(&it), (false, 2));
        it.file_cache = [(NodeId(0), 60 << 30)].into();
        assert_eq!(told(&it), (true, 3));
    }

    #[test]
    fn free_huge_pages_of_its_own_are_the_reason_and_memory_without_cpus_is_no_way_out() {
        let mut it = machine(&[&[10, 21], &[21, 10]]);
        it.topology.nodes[0].free_bytes = Some(1 << 30);
        it.topology.nodes[1].cpus = CpuSet::new();
        assert!(check(&it).is_none());
        it.topology.nodes[0].huge_pages = vec![NodeHugePages {
            page_bytes: 2 << 20,
            total: 40_000,
            free: Some(30_000),
            surplus: None,
        }];
        let found = check(&it).unwrap();
        let expected = "node 0 has 1 GiB free of 100 GiB, because 58.59 GiB of it are free huge \
                        pages, which small pages cannot use";
        assert_eq!(found.message, expected);
        let pool = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
        assert_eq!(
            found.fix.last(),
            Some(&shell_line!("echo {} >{}", 10_000_u32, pool))
        );
    }
}
