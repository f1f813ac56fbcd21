//! Selects the CPUs that measure. Pure.

use std::collections::BTreeMap;

use model::{CpuId, CpuSet, NodeId, Topology};

/// Returns one CPU of each core of a node in ascending order: the first that is allowed. CPU 0
/// comes last because it also serves interrupts (Intel MLC leaves it out, too).
pub fn cpus_of_cores(topology: &Topology, node: NodeId, allowed: &CpuSet) -> Vec<CpuId> {
    let Some(node) = topology.node(node) else {
        return Vec::new();
    };
    let usable = node.cpus.intersection(allowed);
    let is_first_of_core = |cpu: &CpuId| {
        let siblings = topology
            .core_of_cpu(*cpu)
            .map(|core| core.cpus.intersection(&usable));
        siblings.is_none_or(|siblings| siblings.first() == Some(*cpu))
    };
    let mut cpus: Vec<CpuId> = usable.iter().filter(is_first_of_core).collect();
    if cpus.first() == Some(&CpuId(0)) {
        cpus.rotate_left(1);
    }
    cpus
}

/// Returns the CPU of a node that measures; `None` if none of the node's CPUs is allowed.
pub fn measuring_cpu(topology: &Topology, node: NodeId, allowed: &CpuSet) -> Option<CpuId> {
    cpus_of_cores(topology, node, allowed).first().copied()
}

/// Returns the CPUs to keep busy while each node measures: one of every other node, so that its
/// package does not lower its clocks while its memory is measured from elsewhere.
pub fn cpus_to_keep_awake(
    topology: &Topology,
    allowed: &CpuSet,
) -> impl Fn(NodeId) -> CpuSet + use<> {
    let nodes = topology.cpu_nodes();
    let cpu = |node| Some((node, measuring_cpu(topology, node, allowed)?));
    let cpus: BTreeMap<NodeId, CpuId> = nodes.iter().filter_map(cpu).collect();
    move |measuring| {
        let others = cpus.iter().filter(|(node, _)| **node != measuring);
        others.map(|(_, cpu)| *cpu).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::{Core, CpuId, CpuSet, Node, NodeId, Topology};

    use super::{cpus_of_cores, cpus_to_keep_awake, measuring_cpu};

    /// Returns two nodes of two cores with two threads each, and one memory-only node.
    fn topology() -> Topology {
        let node = |id, cpus: &str| Node {
            id: NodeId(id),
            cpus: cpus.parse().unwrap(),
            ..Node::default()
        };
        let core = |cpus: &str| Core {
            cpus: cpus.parse().unwrap(),
            ..Core::default()
        };
        Topology {
            nodes: vec![node(0, "0-1,4-5"), node(1, "2-3,6-7"), node(2, "")],
            core_list: vec![core("0,4"), core("1,5"), core("2,6"), core("3,7")],
            ..Topology::default()
        }
    }

    fn check(node: u32, allowed: &str, expected: &[u32]) {
        let found = cpus_of_cores(&topology(), NodeId(node), &allowed.parse().unwrap());
        let expected: Vec<CpuId> = expected.iter().copied().map(CpuId).collect();
        assert_eq!(found, expected, "node {node}, allowed {allowed}");
    }

    #[test]
    fn one_cpu_of_each_core_and_cpu_0_last() {
        check(0, "0-7", &[1, 0]);
        check(1, "0-7", &[2, 3]);
        check(0, "4-7", &[4, 5]);
        check(0, "0", &[0]);
        check(1, "0", &[]);
        check(2, "0-7", &[]);
        check(9, "0-7", &[]);
    }

    #[test]
    fn a_cpu_of_an_unknown_core_stands_for_itself() {
        let mut topology = topology();
        topology.core_list.clear();
        let allowed: CpuSet = "0-7".parse().unwrap();
        assert_eq!(cpus_of_cores(&topology, NodeId(1), &allowed).len(), 4);
        assert_eq!(
            measuring_cpu(&topology, NodeId(0), &allowed),
            Some(CpuId(1))
        );
    }

    #[test]
    fn the_other_nodes_are_kept_awake() {
        let allowed: CpuSet = "0-7".parse().unwrap();
        let awake = cpus_to_keep_awake(&topology(), &allowed);
        assert_eq!(awake(NodeId(0)).to_string(), "2");
        assert_eq!(awake(NodeId(1)).to_string(), "1");
        assert_eq!(awake(NodeId(2)).to_string(), "1-2");
    }
}
