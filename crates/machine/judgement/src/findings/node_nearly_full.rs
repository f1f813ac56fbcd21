//! One node nearly out of memory, another with plenty.

use model::{ByteSize, Fact, Node, NodeHugePages, NodeId, Severity, ShellLine, shell_line};

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

/// A node with less free memory than this share of it is nearly full.
const FULL_PERCENT: u64 = 2;
/// A node with more free memory than this share could have been used.
const PLENTY_PERCENT: u64 = 20;

fn check(input: &DoctorInput) -> Option<Found> {
    let is_full =
        |node: &&Node| is_below(input.usable_bytes(node), node.memory_bytes, FULL_PERCENT);
    let node = input.topology.nodes.iter().find(is_full)?;
    of_own_pools(input, node).or_else(|| beside_another(input, node))
}

/// Whether these free bytes are less than so much of all bytes; `false` where one is unknown.
fn is_below(free: Option<u64>, all: Option<u64>, percent: u64) -> bool {
    let known = free.zip(all).filter(|(_, all)| *all > 0);
    known.is_some_and(|(free, all)| free < all / 100 * percent)
}

fn meminfo(node: NodeId) -> String {
    format!("/sys/devices/system/node/node{node}/meminfo")
}

/// What is said of the node: free memory of all memory, and why programs do not get it.
fn free_of(input: &DoctorInput, node: &Node) -> String {
    let [free, all] = [node.free_bytes, node.memory_bytes].map(|it| ByteSize(it.unwrap_or(0)));
    let mut words = format!("node {} has {free} free of {all}", node.id);
    let is_kept = !is_below(node.free_bytes, node.memory_bytes, FULL_PERCENT);
    if let Some(usable) = input.usable_bytes(node).filter(|_| is_kept) {
        words += &format!(
            ", but programs get {} of that: the rest is in zones of low addresses, which the \
             kernel keeps for those who can use no others",
            ByteSize(usable)
        );
    }
    words
}

/// File cache of the node, if it is much of it.
fn cache_of(input: &DoctorInput, node: &Node) -> Option<u64> {
    let cache = input.file_cache.get(&node.id).copied();
    cache.filter(|_| !is_below(cache, node.memory_bytes, PLENTY_PERCENT))
}

fn fact_of(node: &Node) -> Fact {
    let free = ByteSize(node.free_bytes.unwrap_or(0));
    fact(meminfo(node.id), format!("MemFree {free}"))
}

/// Free huge pages of the node's own pools are what is missing: nothing but huge pages can use
/// them.
fn of_own_pools(input: &DoctorInput, node: &Node) -> Option<Found> {
    let free = |pool: &&NodeHugePages| pool.free.unwrap_or(0) > 0;
    let pools: Vec<&NodeHugePages> = node.huge_pages.iter().filter(free).collect();
    let bytes = |pool: &&NodeHugePages| pool.page_bytes.saturating_mul(pool.free.unwrap_or(0));
    let idle = pools.iter().map(bytes).fold(0, u64::saturating_add);
    if is_below(Some(idle), node.memory_bytes, PLENTY_PERCENT) {
        return None;
    }
    let file = |pool: &NodeHugePages, name| pool_file(node.id, pool.page_bytes, name);
    let free = pools
        .iter()
        .map(|pool| fact(file(pool, "free_hugepages"), pool.free.unwrap_or(0)));
    let shrink = pools.iter().map(|pool| {
        let used = pool.total.saturating_sub(pool.free.unwrap_or(0));
        shell_line!("echo {} >{}", used, file(pool, "nr_hugepages"))
    });
    let why = "# unless a database that is about to start takes them, shrink the pool to the pages \
               in use (HugePages_Rsvd of /proc/meminfo are promised to programs: add them):";
    Some(Found {
        message: format!(
            "{}, because {} of it are free huge pages, which small pages cannot use",
            free_of(input, node),
            ByteSize(idle)
        ),
        evidence: [fact_of(node)].into_iter().chain(free).collect(),
        fix: [ShellLine::of(why)].into_iter().chain(shrink).collect(),
        ..Found::default()
    })
}

/// Another node where databases may have memory has plenty.
fn beside_another(input: &DoctorInput, node: &Node) -> Option<Found> {
    let usable_nodes = input.database_nodes();
    let mut others = input.topology.nodes.iter();
    let other = others.find(|other| {
        let usable = input.usable_bytes(other);
        other.id != node.id
            && usable_nodes.contains(other.id)
            && usable.is_some()
            && other.memory_bytes.is_some_and(|all| all > 0)
            && !is_below(usable, other.memory_bytes, PLENTY_PERCENT)
    })?;
    let free = ByteSize(other.free_bytes.unwrap_or(0));
    let mut found = Found {
        message: format!(
            "{}, node {} has {free} free",
            free_of(input, node),
            other.id
        ),
        evidence: vec![fact_of(node), fact_of(other)],
        fix: vec![ShellLine::remark(format!(
            "show what uses memory on node {} (the kernel frees file cache on demand):",
            node.id
        ))],
        ..Found::default()
    };
    let grep = shell_line!(
        "grep -E 'FilePages|Shmem|AnonPages|HugePages' {}",
        meminfo(node.id)
    );
    found.fix.push(grep);
    let how = match cache_of(input, node) {
        None => {
            "# start programs bound to that node with --preferred or --interleave, not --membind"
        }
        Some(_) => {
            "# for memory that is bound to that node, the kernel gives up cache at once; memory \
             that is only preferred or local there goes to other nodes first"
        }
    };
    found.fix.push(ShellLine::of(how));
    if let Some(bytes) = cache_of(input, node) {
        let cache = ByteSize(bytes);
        found.message += &format!("; {cache} of node {} are file cache", node.id);
        let file = fact(meminfo(node.id), format!("file cache {cache}"));
        found.evidence.insert(1, file);
    }
    Some(found)
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
