//! What the files of a machine say against one another, once all of them are read.

use std::collections::BTreeSet;

use model::{ByteSize, Cache, CpuSet, Topology};

use crate::gaps::Gaps;

/// Firmware and kernel keep less than this share of a machine's memory out of its nodes.
const SHARE_OF_NO_NODE: f64 = 0.01;

/// Adds a sentence for each contradiction.
pub(crate) fn say(topology: &Topology, gaps: &mut Gaps) {
    memory(topology, gaps);
    packages_of_caches(topology, gaps);
    cpus_without_caches(topology, gaps);
}

/// The nodes together have the machine's memory.
fn memory(topology: &Topology, gaps: &mut Gaps) {
    let of_nodes = topology.memory_bytes_of(&topology.node_ids());
    let Some((of_nodes, total)) = of_nodes.zip(topology.memory_bytes) else {
        return;
    };
    let difference = of_nodes.abs_diff(total) as f64;
    if difference > total as f64 * SHARE_OF_NO_NODE {
        gaps.add(format!(
            "machine: {} of memory (MemTotal in /proc/meminfo), but its nodes have {} together",
            ByteSize(total),
            ByteSize(of_nodes)
        ));
    }
}

/// No processor shares a cache with another package. Virtual machines say so.
fn packages_of_caches(topology: &Topology, gaps: &mut Gaps) {
    for cache in &topology.caches {
        let is_wide = |cpus: &&CpuSet| packages(topology, cpus) > 1;
        let wide = cache.shared_by.iter().flatten().filter(is_wide);
        let cpus: CpuSet = wide.flat_map(|cpus| cpus.iter()).collect();
        let level = cache.level;
        let what = format!("listed as sharing an L{level} cache, but in several packages");
        gaps.of_cpus(&cpus, &what);
    }
}

/// How many packages these CPUs are in, as far as that is known.
fn packages(topology: &Topology, cpus: &CpuSet) -> usize {
    let cores = topology.core_list.iter();
    let here = cores.filter(|core| !core.cpus.is_disjoint(cpus));
    let packages: BTreeSet<u32> = here.filter_map(|core| core.package).collect();
    packages.len()
}

/// Every CPU has a cache of the last level, if any has.
fn cpus_without_caches(topology: &Topology, gaps: &mut Gaps) {
    let Some(level) = topology.caches.iter().map(|cache| cache.level).max() else {
        return;
    };
    let of_level = |cache: &&Cache| cache.level == level;
    let last: Vec<&Cache> = topology.caches.iter().filter(of_level).collect();
    if last.iter().any(|cache| cache.shared_by.is_none()) {
        return;
    }
    let sets = last.iter().filter_map(|cache| cache.shared_by.as_ref());
    let with: CpuSet = sets.flatten().flat_map(|cpus| cpus.iter()).collect();
    let without = topology.cpus.difference(&with);
    let what = format!("no L{level} cache listed, although other CPUs have one");
    gaps.of_cpus(&without, &what);
}

#[cfg(test)]
mod tests {
    use model::{CacheKind, Core, Node};

    use super::*;

    fn machine(caches: &[(u32, &str)]) -> Topology {
        let core = |package: u32, cpus: &str| Core {
            cpus: cpus.parse().unwrap(),
            package: Some(package),
            ..Core::default()
        };
        let cache = |(level, cpus): &(u32, &str)| Cache {
            level: *level,
            kind: CacheKind::Unified,
            size_bytes: Some(1 << 20),
            line_bytes: Some(64),
            shared_by: Some(vec![cpus.parse().unwrap()]),
        };
        let node = |memory_bytes: u64| Node {
            memory_bytes: Some(memory_bytes),
            ..Node::default()
        };
        Topology {
            cpus: "0-3".parse().unwrap(),
            core_list: vec![core(0, "0-1"), core(1, "2-3")],
            caches: caches.iter().map(cache).collect(),
            memory_bytes: Some(4 << 30),
            nodes: vec![node(1 << 30), node(3 << 30)],
            ..Topology::default()
        }
    }

    fn check(topology: &Topology, expected: &[&str]) {
        let mut gaps = Gaps::default();
        say(topology, &mut gaps);
        assert_eq!(gaps.into_sentences(), expected);
    }

    #[test]
    fn caches_are_of_one_package_and_of_every_cpu() {
        check(&machine(&[]), &[]);
        check(&machine(&[(2, "0"), (3, "0-1"), (3, "2-3")]), &[]);
        let wide = "CPUs 0-3: listed as sharing an L3 cache, but in several packages";
        check(&machine(&[(3, "0-3")]), &[wide]);
        let some = "CPUs 2-3: no L3 cache listed, although other CPUs have one";
        check(&machine(&[(2, "2-3"), (3, "0-1")]), &[some]);
    }

    #[test]
    fn nodes_have_the_memory_of_the_machine() {
        let mut it = machine(&[]);
        it.nodes[1].memory_bytes = Some((3 << 30) - (30 << 20));
        check(&it, &[]);
        it.nodes[1].memory_bytes = Some(1 << 30);
        let expected = "machine: 4 GiB of memory (MemTotal in /proc/meminfo), but its nodes have 2 \
                        GiB together";
        check(&it, &[expected]);
        it.nodes[1].memory_bytes = None;
        check(&it, &[]);
    }
}
