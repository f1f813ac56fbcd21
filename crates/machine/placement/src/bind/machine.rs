//! The part of a machine that placing needs, read in a fraction of the time of a full topology,
//! since reading it delays the start of the program.

use std::collections::BTreeMap;

use linux::{Root, proc_status, sysfs_nodes};
use model::{CpuId, CpuSet, NodeId, NodeSet};

/// Nodes, CPUs, and what this process may use of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The CPUs of each node that is online; empty sets for memory-only nodes.
    pub cpus_by_node: BTreeMap<NodeId, CpuSet>,
    /// The nodes that have memory.
    pub memory_nodes: NodeSet,
    /// The CPUs this process may use now.
    pub cpus_allowed: CpuSet,
    /// The nodes whose memory its cpuset allows.
    pub nodes_allowed: NodeSet,
}

impl Machine {
    /// Reads the machine.
    ///
    /// # Errors
    /// When /sys or /proc cannot be read.
    pub fn read(root: &Root) -> Result<Self, linux::Error> {
        let allowed = proc_status::allowed(root, std::process::id())?;
        let online = sysfs_nodes::online(root)?;
        let mut cpus_by_node = BTreeMap::new();
        for node in online.iter() {
            cpus_by_node.insert(node, sysfs_nodes::cpus(root, node)?.unwrap_or_default());
        }
        if cpus_by_node.is_empty() {
            // A kernel without NUMA support has one node that holds everything.
            cpus_by_node.insert(NodeId(0), linux::sysfs_cpus::lists(root)?.online);
        }
        let memory_nodes = match sysfs_nodes::with_memory(root)? {
            Some(nodes) => nodes,
            None => cpus_by_node.keys().copied().collect(),
        };
        Ok(Machine {
            cpus_by_node,
            memory_nodes,
            cpus_allowed: allowed.cpus,
            nodes_allowed: allowed.memory_nodes,
        })
    }

    /// All nodes.
    pub fn nodes(&self) -> NodeSet {
        self.cpus_by_node.keys().copied().collect()
    }

    /// The nodes that have CPUs.
    pub fn cpu_nodes(&self) -> NodeSet {
        let with_cpus = self
            .cpus_by_node
            .iter()
            .filter(|(_, cpus)| !cpus.is_empty());
        with_cpus.map(|(node, _)| *node).collect()
    }

    /// All CPUs.
    pub fn cpus(&self) -> CpuSet {
        self.cpus_by_node.values().flat_map(CpuSet::iter).collect()
    }

    /// The CPUs of some nodes.
    pub fn cpus_of(&self, nodes: &NodeSet) -> CpuSet {
        let of_nodes = self
            .cpus_by_node
            .iter()
            .filter(|(node, _)| nodes.contains(**node));
        of_nodes.flat_map(|(_, cpus)| cpus.iter()).collect()
    }

    /// The nodes of some CPUs.
    pub fn nodes_of(&self, cpus: &CpuSet) -> NodeSet {
        let has_one = |(_, of_node): &(&NodeId, &CpuSet)| !of_node.is_disjoint(cpus);
        let nodes = self.cpus_by_node.iter().filter(has_one);
        nodes.map(|(node, _)| *node).collect()
    }

    /// The nodes where memory that is local to some CPUs may be: their own, and if one of those has
    /// no memory, every node that has some. The kernel takes the nearest one then, and which of
    /// several equally near ones is its own choice (mm/page_alloc.c, `build_zonelists`).
    pub fn local_memory_nodes(&self, cpus: &CpuSet) -> NodeSet {
        let nodes = self.nodes_of(cpus);
        match nodes.is_subset(&self.memory_nodes) {
            true => nodes,
            false => self.memory_nodes.clone(),
        }
    }

    /// The node of one CPU.
    pub fn node_of(&self, cpu: CpuId) -> Option<NodeId> {
        self.nodes_of(&CpuSet::of(cpu)).first()
    }
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::{CpuSet, NodeId, NodeSet};

    use super::Machine;

    #[test]
    fn local_memory_of_a_node_without_any_is_on_the_others() {
        let cpus = |text: &str| -> CpuSet { text.parse().unwrap() };
        let nodes = |text: &str| -> NodeSet { text.parse().unwrap() };
        let machine = Machine {
            cpus_by_node: [(NodeId(0), cpus("0-1")), (NodeId(1), cpus("2-3"))].into(),
            memory_nodes: nodes("0,2"),
            cpus_allowed: cpus("0-3"),
            nodes_allowed: nodes("0,2"),
        };
        assert_eq!(machine.local_memory_nodes(&cpus("1")), nodes("0"));
        assert_eq!(machine.local_memory_nodes(&cpus("3")), nodes("0,2"));
        assert_eq!(machine.local_memory_nodes(&cpus("0-3")), nodes("0,2"));
    }

    #[test]
    fn this_machine_has_what_this_process_may_use() {
        let machine = Machine::read(&Root::live()).unwrap();
        assert!(machine.nodes_allowed.is_subset(&machine.memory_nodes));
        assert!(machine.cpus_allowed.is_subset(&machine.cpus()));
        let nodes = machine.nodes_of(&machine.cpus_allowed);
        assert!(machine.cpus_allowed.is_subset(&machine.cpus_of(&nodes)));
        for cpu in machine.cpus_allowed.iter() {
            assert!(nodes.contains(machine.node_of(cpu).unwrap()));
        }
    }
}
