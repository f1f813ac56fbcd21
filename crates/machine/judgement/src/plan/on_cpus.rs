//! The target as it would be on other CPUs.

use model::{CpuSet, NodeId, NodeSet, Topology};

use crate::doctor::DoctorInput;

/// Returns what the doctor would look at if all threads were bound to these CPUs. Which part of its
/// memory is local then is left to whoever knows where it lies.
pub(crate) fn on_cpus(input: &DoctorInput, cpus: &CpuSet) -> DoctorInput {
    let mut then = input.clone();
    let nodes = nodes_of(cpus, &then.topology);
    let only = nodes.first().filter(|_| nodes.len() == 1);
    let Some(residency) = &mut then.residency else {
        return then;
    };
    for process in &mut residency.processes {
        process.cpus.clone_from(cpus);
        process.nodes_of_cpus.clone_from(&nodes);
        process.pinned_to_node = only;
        process.last_node = last(process.last_node, &nodes);
    }
    if let Some(threads) = &mut residency.threads {
        for role in &mut threads.roles {
            role.cpus.clone_from(cpus);
            role.nodes_of_cpus.clone_from(&nodes);
            let masks = role.masks.iter_mut();
            masks.for_each(|mask| mask.cpus.clone_from(cpus));
            let seen = std::mem::take(&mut role.last_seen_by_node).into_iter();
            for (node, threads) in seen {
                if let Some(node) = last(Some(node), &nodes) {
                    *role.last_seen_by_node.entry(node).or_default() += threads;
                }
            }
        }
        let first = threads.first_threads.iter_mut();
        first.for_each(|thread| thread.cpus.clone_from(cpus));
    }
    then
}

/// The nodes of these CPUs.
pub(crate) fn nodes_of(cpus: &CpuSet, topology: &Topology) -> NodeSet {
    let nodes = topology.nodes.iter();
    let nodes = nodes.filter(|node| !node.cpus.intersection(cpus).is_empty());
    nodes.map(|node| node.id).collect()
}

/// Where what ran on this node runs then: there, or where it must.
fn last(node: Option<NodeId>, nodes: &NodeSet) -> Option<NodeId> {
    node.filter(|node| nodes.contains(*node))
        .or_else(|| nodes.first())
}
