//! Nodes that differ: the part of the CPUs that each has, and its part of the bandwidth.

use std::collections::BTreeMap;

use model::{CpuSet, NodeId, NodeSet, Topology};

use super::input::DoctorInput;

/// Shares of the nodes, which sum to 1.
pub(crate) type Shares = BTreeMap<NodeId, f64>;

/// How these CPUs are distributed over the nodes; empty if they are on none.
pub(crate) fn cpu_shares(cpus: &CpuSet, topology: &Topology) -> Shares {
    let of_node = |node: &model::Node| (node.id, cpus.intersection(&node.cpus).len() as f64);
    normal(topology.nodes.iter().map(of_node))
}

/// How the CPUs of all processes of the target are distributed, each process alike.
pub(crate) fn use_shares(input: &DoctorInput) -> Shares {
    let processes = input.residency.iter().flat_map(|it| &it.processes);
    let of_process = |it: &model::ProcessResidency| cpu_shares(&it.cpus, &input.topology);
    let mut sum = Shares::new();
    for (node, share) in processes.flat_map(of_process) {
        *sum.entry(node).or_default() += share;
    }
    normal(sum.into_iter())
}

/// The part of the bandwidth that each of these nodes has: measured, else by the weights of the
/// kernel's interleaving where they differ, since firmware or an administrator said them. `None`
/// where neither tells of all of them.
pub(crate) fn bandwidth_shares(input: &DoctorInput, nodes: &NodeSet) -> Option<Shares> {
    let measured: BTreeMap<NodeId, u64> = input.bandwidth_weights.iter().copied().collect();
    let of_kernel = input.topology.settings.interleave_weights.as_ref();
    let differ = |it: &&BTreeMap<NodeId, u64>| {
        let mut weights = nodes.iter().filter_map(|node| it.get(&node));
        let first = weights.next();
        weights.any(|weight| Some(weight) != first)
    };
    let tells_of_all = |it: &&BTreeMap<NodeId, u64>| nodes.iter().all(|it_| it.contains_key(&it_));
    let all = [Some(&measured), of_kernel.filter(differ)];
    let weights = all.into_iter().flatten().find(tells_of_all)?;
    let weight = |node: NodeId| (node, weights[&node] as f64);
    Some(normal(nodes.iter().map(weight))).filter(|shares| !shares.is_empty())
}

/// These parts as shares; empty if there is nothing.
fn normal(parts: impl Iterator<Item = (NodeId, f64)>) -> Shares {
    let parts: Shares = parts.filter(|(_, part)| *part > 0.0).collect();
    let all: f64 = parts.values().sum();
    parts
        .into_iter()
        .map(|(node, part)| (node, part / all))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    fn shares(of: &[(u32, f64)]) -> Shares {
        of.iter().map(|(node, it)| (NodeId(*node), *it)).collect()
    }

    #[test]
    fn processes_count_alike_by_their_cpus() {
        let mut input = target(&[], "default", "0-1", "0-1");
        assert_eq!(use_shares(&input), shares(&[(0, 0.5), (1, 0.5)]));
        let residency = input.residency.as_mut().unwrap();
        let mut other = residency.processes[0].clone();
        other.cpus = "0".parse().unwrap();
        residency.processes.push(other);
        assert_eq!(use_shares(&input), shares(&[(0, 0.75), (1, 0.25)]));
        assert!(use_shares(&DoctorInput::default()).is_empty());
    }

    #[test]
    fn bandwidths_go_before_weights_of_the_kernel() {
        let mut input = target(&[], "default", "0-1", "0-1");
        let nodes: NodeSet = "0-1".parse().unwrap();
        assert_eq!(bandwidth_shares(&input, &nodes), None);
        let mut weights = |of: [u64; 2]| {
            let of_kernel = [(NodeId(0), of[0]), (NodeId(1), of[1])].into();
            input.topology.settings.interleave_weights = Some(of_kernel);
            bandwidth_shares(&input, &nodes)
        };
        // Nobody has set weights that are all alike.
        assert_eq!(weights([1, 1]), None);
        assert_eq!(weights([3, 1]), Some(shares(&[(0, 0.75), (1, 0.25)])));
        input.bandwidth_weights = vec![(NodeId(0), 1), (NodeId(1), 1)];
        let even = shares(&[(0, 0.5), (1, 0.5)]);
        assert_eq!(bandwidth_shares(&input, &nodes), Some(even));
        // Of a node without a figure nothing is made up.
        let more: NodeSet = "0-2".parse().unwrap();
        assert_eq!(bandwidth_shares(&input, &more), None);
    }
}
