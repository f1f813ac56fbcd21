//! Names of the experiments that measure memory itself, as stored in runs, and of their cases,
//! which encode a pair of nodes. For a skipped case the name is the only record of the pair.

use model::{CasePlan, NodeId, NodesOfCpus, Run};

/// Latency from every node to every node.
pub const LATENCY: &str = "latency";
/// Latency by working set.
pub const CURVE: &str = "latency-curve";
/// Transfers of a cache line between CPUs.
pub const TRANSFERS: &str = "line-transfers";
/// Bandwidth from every node to every node.
pub const BANDWIDTH: &str = "bandwidth";
/// Latency under load.
pub(crate) const LOADED: &str = "loaded-latency";

/// Returns the text that stands for the definition of such a run.
pub(crate) fn definition(experiment: &str) -> String {
    format!("# Made from the topology.\nexperiment = \"{experiment}\"\n")
}

/// Whether a run was planned from the topology, and not from a definition that names measuring
/// kernels.
pub fn is_from_topology(run: &Run) -> bool {
    run.definition == definition(&run.experiment)
}

/// Returns a name such as `from-0-to-1`.
pub(crate) fn of_cell(cpu_node: NodeId, memory_node: NodeId) -> String {
    format!("from-{cpu_node}-to-{memory_node}")
}

/// Parses the pair of nodes from a name.
pub(crate) fn cell_of(name: &str) -> Option<(NodeId, NodeId)> {
    let (from, to) = name.strip_prefix("from-")?.split_once("-to-")?;
    Some((NodeId(from.parse().ok()?), NodeId(to.parse().ok()?)))
}

/// Returns the requested CPU node and memory node of a case.
pub(crate) fn nodes_of(plan: &CasePlan, nodes: &NodesOfCpus) -> Option<(NodeId, NodeId)> {
    let cpu = plan.placement.cpus.as_ref()?.first()?;
    let memory_node = plan.placement.memory_nodes.as_ref()?.first()?;
    Some((nodes.node(cpu)?, memory_node))
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
