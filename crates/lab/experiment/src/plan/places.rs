//! Resolves places and quantities on a machine.

use model::{Allocation, CpuId, CpuSet, Node, NodeId, NodeSet, counted, cpu_words, node_words};

use super::cannot::Cannot;
use super::cpu_choice;
use super::host::Host;
use crate::definition::{
    AllocationChoice, CpuChoice, MemoryChoice, Place, QUANTITY_MAX, Quantity, Scaled, Symbol,
};

impl Host {
    /// Returns the first node with both usable CPUs and usable memory.
    pub(crate) fn first_node(&self) -> Result<&Node, Cannot> {
        let cpus = self.cpus_to_choose_from();
        let memory_nodes = self.memory_nodes();
        self.topology
            .nodes
            .iter()
            .find(|node| memory_nodes.contains(node.id) && !node.cpus.is_disjoint(&cpus))
            .ok_or_else(|| {
                Cannot::machine(
                    "no node has both CPUs and memory that this process may use",
                    "name CPUs and nodes by their ids",
                )
            })
    }

    /// Returns the CPUs of first-node to choose from.
    fn first_node_cpus(&self) -> Result<CpuSet, Cannot> {
        Ok(self
            .first_node()?
            .cpus
            .intersection(&self.cpus_to_choose_from()))
    }

    /// Resolves a quantity to a number.
    pub(crate) fn count(&self, quantity: Quantity) -> Result<u32, Cannot> {
        if let Quantity::Number(number) = quantity {
            return Ok(number);
        }
        if quantity == Quantity::Scaled(Scaled::AllCpus) {
            let cpus = u32::try_from(self.cpus_to_choose_from().len()).unwrap_or(QUANTITY_MAX);
            return Ok(cpus.min(QUANTITY_MAX));
        }
        let cpus = self.first_node_cpus()?.len();
        let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
        quantity.on_first_node_with(cpus).ok_or_else(|| {
            Cannot::machine(
                format!("a limit needs at least 2 CPUs on one node ({cpus} available)"),
                "run it on a machine, or in a container, with more CPUs",
            )
        })
    }

    /// Returns the CPUs a case may use; `None` for inherited CPUs.
    pub(crate) fn chosen_cpus(&self, choice: &CpuChoice) -> Result<Option<CpuSet>, Cannot> {
        let (place, quantity) = match choice {
            CpuChoice::Inherited => return Ok(None),
            CpuChoice::All(place) => (place, None),
            CpuChoice::Some(place, quantity) => (place, Some(*quantity)),
            CpuChoice::Pair(pair) => return cpu_choice::pair(self, *pair).map(Some),
        };
        let cpus = self.cpus_of(place)?;
        let Some(quantity) = quantity else {
            return Ok(Some(cpus));
        };
        let count = self.count(quantity)?;
        let chosen = cpu_choice::first(&self.topology, &cpus, count).ok_or_else(|| {
            let there = cpus.len();
            Cannot::machine(
                format!(
                    "needs {}, only {there} available ({cpus})",
                    counted(count, "CPU")
                ),
                "set fewer, or name another place",
            )
        })?;
        Ok(Some(chosen))
    }

    fn cpus_of(&self, place: &Place<CpuId>) -> Result<CpuSet, Cannot> {
        let symbol = match place {
            Place::List(list) => return self.existing_cpus(list),
            Place::Symbol(symbol) => *symbol,
        };
        let cpus = self.cpus_to_choose_from();
        if symbol == Symbol::All {
            return Ok(cpus);
        }
        let nodes = self.nodes_of_symbol(symbol)?;
        let node = |id| self.topology.node(id);
        let of_nodes: CpuSet = nodes
            .iter()
            .filter_map(node)
            .flat_map(|node| node.cpus.iter())
            .collect();
        let chosen = of_nodes.intersection(&cpus);
        if chosen.is_empty() {
            let reason = format!("node {nodes} has no CPUs that this process may use");
            return Err(Cannot::machine(reason, "name CPUs of another place"));
        }
        Ok(chosen)
    }

    fn existing_cpus(&self, list: &CpuSet) -> Result<CpuSet, Cannot> {
        let usable = self.cpus();
        let missing = list.difference(&usable);
        if missing.is_empty() {
            return Ok(list.clone());
        }
        let reason = format!("offline or not allowed: {}", cpu_words(&missing));
        let advice = format!("this process may use {usable}");
        Err(Cannot::machine(reason, advice))
    }

    /// Returns the memory nodes a case may use; `None` for inherited nodes.
    pub(crate) fn chosen_memory_nodes(
        &self,
        choice: &MemoryChoice,
    ) -> Result<Option<NodeSet>, Cannot> {
        match choice {
            MemoryChoice::Inherited => Ok(None),
            MemoryChoice::Only(place) => self.nodes_of(place).map(Some),
        }
    }

    /// Resolves the allocation of an SGA.
    pub(crate) fn chosen_allocation(
        &self,
        choice: &AllocationChoice,
    ) -> Result<Allocation, Cannot> {
        match choice {
            AllocationChoice::OsDefault => Ok(Allocation::OsDefault),
            AllocationChoice::Interleave(place) => self.nodes_of(place).map(Allocation::Interleave),
            AllocationChoice::WeightedInterleave(place) => self.weighted_interleave(place),
            AllocationChoice::Bind(place) => self.nodes_of(place).map(Allocation::Bind),
            AllocationChoice::Prefer(place) => self.preferred(place),
            AllocationChoice::PerNode(place) => self.nodes_of(place).map(Allocation::PerNode),
        }
    }

    fn weighted_interleave(&self, place: &Place<NodeId>) -> Result<Allocation, Cannot> {
        if !self.has_weighted_interleave {
            return Err(Cannot::machine(
                "needs weighted interleave (Linux 6.9 or later)",
                "set allocation = \"interleave:…\", or boot a newer kernel",
            ));
        }
        self.nodes_of(place).map(Allocation::WeightedInterleave)
    }

    fn preferred(&self, place: &Place<NodeId>) -> Result<Allocation, Cannot> {
        let nodes = self.nodes_of(place)?;
        let mut ids = nodes.iter();
        match (ids.next(), ids.next()) {
            (Some(node), None) => Ok(Allocation::Prefer(node)),
            _ => Err(Cannot::usage(
                format!("prefer: takes one node, not {}", node_words(nodes)),
                "name one node, or use bind: or interleave:",
            )),
        }
    }

    fn nodes_of(&self, place: &Place<NodeId>) -> Result<NodeSet, Cannot> {
        let list = match place {
            Place::Symbol(symbol) => return self.nodes_of_symbol(*symbol),
            Place::List(list) => list,
        };
        let usable = self.memory_nodes();
        let missing = list.difference(&usable);
        if missing.is_empty() {
            return Ok(list.clone());
        }
        let reason = format!(
            "no memory that this process may use on {}",
            node_words(&missing)
        );
        Err(Cannot::machine(
            reason,
            format!("it may use {}", node_words(usable)),
        ))
    }

    fn nodes_of_symbol(&self, symbol: Symbol) -> Result<NodeSet, Cannot> {
        match symbol {
            Symbol::All => Ok(self.memory_nodes()),
            Symbol::FirstNode => Ok(NodeSet::of(self.first_node()?.id)),
            Symbol::Nearest => self.by_distance(i64::from),
            Symbol::Farthest => self.by_distance(|distance| -i64::from(distance)),
        }
    }

    /// Returns the other node with memory whose distance from first-node has the smallest `key`;
    /// ties go to the lowest id. With only one other node, no distance is needed.
    fn by_distance(&self, key: impl Fn(u32) -> i64) -> Result<NodeSet, Cannot> {
        let from = self.first_node()?.id;
        let mut others = self.memory_nodes();
        others.remove(from);
        if others.len() == 1 {
            return Ok(others);
        }
        let distance = |to| self.topology.distance(from, to);
        let keys: Option<Vec<(i64, NodeId)>> = others
            .iter()
            .map(|to| Some((key(distance(to)?), to)))
            .collect();
        let keys = keys.ok_or_else(|| {
            Cannot::machine(
                format!("the firmware reports no distances from node {from}"),
                format!("name one of {}", node_words(&others)),
            )
        })?;
        let (_, node) = keys
            .into_iter()
            .min()
            .ok_or_else(|| Cannot::machine(format!("only node {from} has memory"), ""))?;
        Ok(NodeSet::of(node))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_hosts::{article_000, memory_only_first, one_node, sparse};
    use super::*;
    use model::Topology;

    fn cpus(topology: &Topology, choice: &str) -> String {
        let choice = CpuChoice::parse(choice).unwrap();
        match Host::new(topology).chosen_cpus(&choice) {
            Ok(cpus) => cpus.map_or("inherited".to_owned(), |cpus| cpus.to_string()),
            Err(cannot) => cannot.to_string(),
        }
    }

    fn nodes(topology: &Topology, choice: &str) -> String {
        let choice = MemoryChoice::parse(choice).unwrap();
        match Host::new(topology).chosen_memory_nodes(&choice) {
            Ok(nodes) => nodes.map_or("inherited".to_owned(), |nodes| nodes.to_string()),
            Err(cannot) => cannot.to_string(),
        }
    }

    #[test]
    fn the_articles_groups_come_out_on_the_articles_machine() {
        let machine = article_000();
        assert_eq!(cpus(&machine, "first-node:local-cpus"), "1-9");
        assert_eq!(cpus(&machine, "first-node:reader-cpus"), "1-9");
        assert_eq!(cpus(&machine, "first-node:limit"), "1-6");
        assert_eq!(cpus(&machine, "first-node"), "1-10,41-50");
        assert_eq!(nodes(&machine, "first-node"), "0");
        // Nodes 4 to 7 are all at distance 22 from node 0: the firmware does not distinguish them.
        assert_eq!(nodes(&machine, "farthest"), "4");
        assert_eq!(nodes(&machine, "nearest"), "2");
        assert_eq!(nodes(&machine, "all"), "0-7");
        assert_eq!(cpus(&machine, "farthest:3"), "81-83");
    }

    #[test]
    fn first_node_has_cpus_and_memory() {
        let machine = memory_only_first();
        assert_eq!(nodes(&machine, "first-node"), "2");
        assert_eq!(cpus(&machine, "first-node"), "2-3");
        // Node 1 has only CPUs, node 0 only memory.
        assert_eq!(nodes(&machine, "all"), "0,2");
        assert_eq!(nodes(&machine, "farthest"), "0");
        assert_eq!(
            cpus(&machine, "farthest"),
            "node 0 has no CPUs that this process may use; name CPUs of another place"
        );
        assert_eq!(
            nodes(&machine, "1"),
            "no memory that this process may use on node 1; it may use nodes 0,2"
        );
    }

    #[test]
    fn ties_go_to_the_lowest_id_and_ids_may_be_sparse() {
        let machine = sparse();
        assert_eq!(nodes(&machine, "first-node"), "2");
        assert_eq!(nodes(&machine, "nearest"), "5");
        assert_eq!(nodes(&machine, "farthest"), "9");
        assert_eq!(nodes(&machine, "2,9"), "2,9");
    }

    #[test]
    fn one_node_has_no_other() {
        let machine = one_node(2);
        assert_eq!(nodes(&machine, "farthest"), "only node 0 has memory");
        assert_eq!(cpus(&machine, "first-node:limit"), "1");
        assert_eq!(
            cpus(&machine, "first-node:6"),
            "needs 6 CPUs, only 2 available (0-1); set fewer, or name another place"
        );
        assert_eq!(
            cpus(&machine, "1-3"),
            "offline or not allowed: CPUs 2-3; this process may use 0-1"
        );
        assert!(cpus(&one_node(1), "first-node:limit").starts_with("a limit needs at least 2"));
    }

    #[test]
    fn distances_are_needed_only_when_there_is_a_choice() {
        let mut machine = article_000();
        machine.distances = None;
        assert_eq!(
            nodes(&machine, "farthest"),
            "the firmware reports no distances from node 0; name one of nodes 1-7"
        );
        let mut two = article_000();
        two.nodes.truncate(2);
        two.distances = None;
        assert_eq!(nodes(&two, "farthest"), "1");
    }

    #[test]
    fn only_what_this_process_may_use_is_chosen() {
        let machine = article_000();
        let mut host = Host::new(&machine);
        host.cpus_allowed = Some("11-14".parse().unwrap());
        host.memory_nodes_allowed = Some("1,3".parse().unwrap());
        assert_eq!(host.first_node().unwrap().id, NodeId(1));
        let all = host.chosen_cpus(&CpuChoice::parse("all").unwrap()).unwrap();
        assert_eq!(all.unwrap().to_string(), "11-14");
        let farthest = MemoryChoice::parse("farthest").unwrap();
        let node = host.chosen_memory_nodes(&farthest).unwrap().unwrap();
        assert_eq!(node.to_string(), "3");
        assert!(host.chosen_cpus(&CpuChoice::parse("1").unwrap()).is_err());
    }

    #[test]
    fn isolated_cpus_are_chosen_only_by_name() {
        let mut machine = one_node(8);
        machine.isolated_cpus = Some("4-7".parse().unwrap());
        assert_eq!(cpus(&machine, "all"), "0-3");
        assert_eq!(cpus(&machine, "4-7"), "4-7");
        machine.isolated_cpus = Some("0-7".parse().unwrap());
        assert_eq!(cpus(&machine, "all"), "0-7");
    }
}
