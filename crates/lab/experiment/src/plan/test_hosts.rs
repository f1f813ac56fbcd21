//! Machines and definitions for planner tests.

use model::{Cache, CacheKind, Core, CpuId, CpuSet, Node, NodeId, Topology};

use crate::definition::Definition;

const MIB: u64 = 1 << 20;

fn node(id: u32, cpus: &str, memory_mib: u64) -> Node {
    Node {
        id: NodeId(id),
        cpus: cpus.parse().unwrap(),
        memory_bytes: Some(memory_mib * MIB),
        free_bytes: Some(memory_mib * MIB),
        ..Node::default()
    }
}

fn known(row: &[u32]) -> Vec<Option<u32>> {
    row.iter().copied().map(Some).collect()
}

fn of_nodes(nodes: Vec<Node>, distances: &[&[u32]]) -> Topology {
    let cpus: CpuSet = nodes.iter().flat_map(|node| node.cpus.iter()).collect();
    Topology {
        nodes,
        cpus,
        distances: Some(distances.iter().map(|row| known(row)).collect()),
        ..Topology::default()
    }
}

/// Returns a machine of one node with this many CPUs, each a core.
pub(crate) fn one_node(cpus: u32) -> Topology {
    let list = format!("0-{}", cpus - 1);
    of_nodes(vec![node(0, &list, 4096)], &[&[10]])
}

/// Returns a machine of nodes with four CPUs, 64 GiB and a last-level cache each, all of them
/// equally far from one another.
pub(crate) fn alike(nodes: u32, cache_mib: u64) -> Topology {
    let cpus = |id: u32| format!("{}-{}", 4 * id, 4 * id + 3);
    let rows: Vec<Vec<u32>> = (0..nodes)
        .map(|from| {
            (0..nodes)
                .map(|to| if from == to { 10 } else { 32 })
                .collect()
        })
        .collect();
    let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
    let all = (0..nodes).map(|id| node(id, &cpus(id), 64 << 10));
    let mut topology = of_nodes(all.collect(), &rows);
    let shared_by = topology.nodes.iter().map(|node| node.cpus.clone());
    topology.caches = vec![Cache {
        level: 3,
        kind: CacheKind::Unified,
        size_bytes: Some(cache_mib * MIB),
        line_bytes: Some(64),
        shared_by: Some(shared_by.collect()),
    }];
    topology
}

/// Returns the machine of articles 000 and 001: eight nodes of ten cores with two threads each.
pub(crate) fn article_000() -> Topology {
    const CPUS: [&str; 8] = [
        "1-10,41-50",
        "11-20,51-60",
        "21-30,61-70",
        "31-40,71-80",
        "0,81-89,120-129",
        "90-99,130-139",
        "100-109,140-149",
        "110-119,150-159",
    ];
    const DISTANCES: [&[u32]; 8] = [
        &[10, 13, 12, 12, 22, 22, 22, 22],
        &[13, 10, 12, 12, 22, 22, 22, 22],
        &[12, 12, 10, 13, 22, 22, 22, 22],
        &[12, 12, 13, 10, 22, 22, 22, 22],
        &[22, 22, 22, 22, 10, 13, 12, 12],
        &[22, 22, 22, 22, 13, 10, 12, 12],
        &[22, 22, 22, 22, 12, 12, 10, 13],
        &[22, 22, 22, 22, 12, 12, 13, 10],
    ];
    let nodes = CPUS.iter().zip(0..);
    let nodes = nodes.map(|(cpus, id)| node(id, cpus, 132_864)).collect();
    let mut topology = of_nodes(nodes, &DISTANCES);
    for node in &topology.nodes {
        let cpus: Vec<CpuId> = node.cpus.iter().collect();
        for (first, second) in cpus[..10].iter().zip(&cpus[10..]) {
            topology.core_list.push(Core {
                cpus: [*first, *second].into_iter().collect(),
                node: Some(node.id),
                ..Core::default()
            });
        }
    }
    topology.caches = vec![Cache {
        level: 3,
        kind: CacheKind::Unified,
        size_bytes: Some(24 * MIB),
        line_bytes: Some(64),
        shared_by: Some(
            topology
                .nodes
                .iter()
                .map(|node| node.cpus.clone())
                .collect(),
        ),
    }];
    topology
}

/// Returns a machine whose node 0 has only memory, node 1 only CPUs, node 2 both.
pub(crate) fn memory_only_first() -> Topology {
    let nodes = vec![node(0, "", 1024), node(1, "0-1", 0), node(2, "2-3", 1024)];
    of_nodes(nodes, &[&[10, 20, 30], &[20, 10, 20], &[30, 20, 10]])
}

/// Returns a machine of nodes 2, 5, 7 and 9; nodes 5 and 7 are equally near to node 2.
pub(crate) fn sparse() -> Topology {
    let nodes = vec![
        node(2, "0-3", 1024),
        node(5, "8-11", 1024),
        node(7, "16-19", 1024),
        node(9, "24-27", 1024),
    ];
    let distances: [&[u32]; 4] = [
        &[10, 21, 21, 31],
        &[21, 10, 31, 21],
        &[21, 31, 10, 21],
        &[31, 21, 21, 10],
    ];
    of_nodes(nodes, &distances)
}

/// Returns a definition of three cases, the second of them as given.
pub(super) fn second(case: &str) -> Definition {
    let cpus = if case.contains("cpus = ") {
        ""
    } else {
        "cpus = \"first-node\""
    };
    let text = format!(
        "format = \"numalab.experiment/1\"\nname = \"mine\"\nquestion = \"q\"\n\
         baseline = \"a\"\nasks-about-memory = true\n[load]\nsessions = 4\n\
         [[case]]\nname = \"a\"\nabout = \"a\"\n\
         [[case]]\nname = \"b\"\nabout = \"b\"\n{cpus}\n{case}\n\
         [[case]]\nname = \"c\"\nabout = \"c\"\nsessions = 3\n"
    );
    Definition::parse("mine.toml", &text).unwrap()
}
