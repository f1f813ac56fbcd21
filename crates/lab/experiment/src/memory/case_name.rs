//! Names of cases that stand for a pair of nodes. A case that was skipped has nothing else to say
//! which pair it was.

use model::{CasePlan, NodeId, Topology};

/// `from-0-to-1`.
pub(crate) fn of_cell(cpu_node: NodeId, memory_node: NodeId) -> String {
    format!("from-{cpu_node}-to-{memory_node}")
}

/// The pair that a name stands for.
pub(crate) fn cell_of(name: &str) -> Option<(NodeId, NodeId)> {
    let (from, to) = name.strip_prefix("from-")?.split_once("-to-")?;
    Some((NodeId(from.parse().ok()?), NodeId(to.parse().ok()?)))
}

/// The node of the CPUs of a case and the node of its memory, by what was asked for.
pub(crate) fn nodes_of(plan: &CasePlan, topology: &Topology) -> Option<(NodeId, NodeId)> {
    let cpu = plan.placement.cpus.as_ref()?.first()?;
    let memory_node = plan.placement.memory_nodes.as_ref()?.first()?;
    Some((topology.node_of_cpu(cpu)?, memory_node))
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::{cell_of, of_cell};

    #[test]
    fn names_and_pairs_are_inverse() {
        let (from, to) = (NodeId(0), NodeId(1023));
        assert_eq!(cell_of(&of_cell(from, to)), Some((from, to)));
        for other in ["", "from-", "from-0", "from-0-to-", "from--1-to-2", "near"] {
            assert_eq!(cell_of(other), None, "{other}");
        }
    }
}
