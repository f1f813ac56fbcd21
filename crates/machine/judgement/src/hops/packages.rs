//! How many packages the CPUs of a node are in.

use std::collections::BTreeSet;

use model::{NodeId, NodeSet, Topology};

/// For each node with CPUs, the number of packages they are in; only where every CPU reports one.
/// None where NUMA is switched off: then one node has all packages whatever the firmware does.
pub fn packages_by_node(topology: &Topology) -> Vec<(NodeId, usize)> {
    let of_node = |node: NodeId| {
        let cores = topology.core_list.iter();
        let cores = cores.filter(|core| core.node == Some(node));
        let packages: Option<BTreeSet<u32>> = cores.map(|core| core.package).collect();
        packages.map(|packages| (node, packages.len()))
    };
    let nodes = match topology.settings.numa_off {
        Some(true) => NodeSet::new(),
        _ => topology.cpu_nodes(),
    };
    nodes.iter().filter_map(of_node).collect()
}
