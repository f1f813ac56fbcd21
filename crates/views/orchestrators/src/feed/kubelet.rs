//! `reservedMemory` of the kubelet: how much of each node the memory manager (policy `Static`)
//! leaves to the system.
//!
//! The kubelet refuses to start unless the parts add up to `kubeReserved` + `systemReserved` +
//! `evictionHard` ("Utilizing the NUMA-aware Memory Manager"), so all of these are written.

use std::fmt::Write;

use super::facts::Facts;

/// The kubelet's threshold of eviction, in MiB (KubeletConfiguration, `evictionHard`).
const EVICTION_MIB: u64 = 100;

/// What is left to the system, in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// Beside the threshold of eviction.
    pub mib: u64,
}

/// The lines of the kubelet's configuration; `None` where the memory of a node is unknown, or less
/// than its part.
pub fn reserved_memory(facts: Facts<'_>, reserved: Reserved) -> Option<String> {
    let nodes = facts.topology.nodes.iter();
    let sizes = nodes.map(|node| Some((node.id, node.memory_bytes? >> 20)));
    let mut sizes: Vec<(model::NodeId, u64)> = sizes.collect::<Option<_>>()?;
    // The kernel's threads and those of the system run where CPUs are.
    let cpu_nodes = facts.topology.cpu_nodes();
    sizes.retain(|(node, mib)| *mib > 0 && cpu_nodes.contains(*node));
    let all: u64 = sizes.iter().map(|(_, mib)| mib).sum();
    let total = reserved.mib + EVICTION_MIB;
    if all < total {
        return None;
    }
    let share = |mib: u64| u128::from(total) * u128::from(mib) / u128::from(all);
    let mut parts: Vec<(model::NodeId, u64)> = sizes
        .iter()
        .map(|(node, mib)| (*node, u64::try_from(share(*mib)).unwrap_or(u64::MAX)))
        .collect();
    let given: u64 = parts.iter().map(|(_, mib)| mib).sum();
    // What division leaves goes to the first.
    parts.first_mut()?.1 += total - given;
    let mut text = format!(
        "# Made by `numalab fleet feed`, for KubeletConfiguration. The parts add up to\n\
         # systemReserved and evictionHard, or the kubelet does not start.\n\
         memoryManagerPolicy: Static\nsystemReserved:\n  memory: {}Mi\nevictionHard:\n  \
         memory.available: {EVICTION_MIB}Mi\nreservedMemory:\n",
        reserved.mib
    );
    for (node, mib) in parts.iter().filter(|(_, mib)| *mib > 0) {
        writeln!(text, "- numaNode: {node}\n  limits:\n    memory: {mib}Mi")
            .expect("a string takes all");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use model::Topology;
    use proptest::prelude::*;

    use super::super::facts::Facts;
    use super::super::facts::tests::known;
    use super::{EVICTION_MIB, Reserved, reserved_memory};

    fn parts(text: &str) -> Vec<u64> {
        let lines = text
            .lines()
            .filter_map(|it| it.strip_prefix("    memory: "));
        lines
            .map(|it| it.strip_suffix("Mi").unwrap().parse().unwrap())
            .collect()
    }

    #[test]
    fn the_system_gets_its_part_of_each_node_that_has_cpus() {
        let known = known();
        let text = reserved_memory(known.facts(), Reserved { mib: 1024 }).unwrap();
        assert_eq!(parts(&text), [281, 281, 281, 281], "{text}");
        assert_eq!(
            reserved_memory(known.facts(), Reserved { mib: 1 << 20 }),
            None
        );
    }

    proptest! {
        #[test]
        fn the_parts_add_up(
            sizes in prop::collection::vec(0_u64..1 << 40, 1..9),
            mib in 0_u64..9999,
        ) {
            let known = known();
            let mut topology: Topology = known.topology.clone();
            for (node, size) in topology.nodes.iter_mut().zip(&sizes) {
                node.memory_bytes = Some(*size);
            }
            let facts = Facts { topology: &topology, ..known.facts() };
            if let Some(text) = reserved_memory(facts, Reserved { mib }) {
                prop_assert_eq!(parts(&text).iter().sum::<u64>(), mib + EVICTION_MIB);
            }
        }
    }
}
