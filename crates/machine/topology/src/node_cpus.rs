//! Which CPUs are on which node. Each node has a list or a mask of them. Links between the
//! directories of nodes and CPUs settle what these leave open or contradict, and where there are no
//! links, what is left over does.

use std::collections::BTreeMap;

use linux::each_cpu::of_each;
use linux::sysfs_cpus::{self, CpuLists, CpuSource};
use linux::{Error, Root, sysfs_nodes};
use model::{CpuId, CpuSet, NodeId, NodeSet};

use crate::gaps::Gaps;

/// The online CPUs of each node; `None` where they are unknown. No CPU is on two nodes.
pub(crate) fn read(
    root: &Root,
    nodes: &NodeSet,
    lists: &CpuLists,
    gaps: &mut Gaps,
) -> Result<BTreeMap<NodeId, Option<CpuSet>>, Error> {
    let online = &lists.online;
    let claims = Claims::read(root, nodes, online)?;
    // Some kernels also list offline CPUs.
    gaps.of_cpus(
        &claims.not_online.difference(&lists.offline),
        "listed by a node, but not online; left out",
    );
    let open = claims.disputed().union(&claims.unclaimed(online));
    let links = if claims.are_clear(&open) {
        BTreeMap::new()
    } else {
        links(root, nodes, &open)?
    };
    let mut node_of_cpu = claims.settled(&links, gaps);
    let mut unknown = NodeSet::new();
    let unclaimed = claims.unclaimed(online);
    if claims.unlisted.is_empty() {
        gaps.of_cpus(&unclaimed, "online, but not listed by any node");
    } else {
        let linked = |cpu: &CpuId| {
            let node = links
                .get(cpu)
                .filter(|node| claims.unlisted.contains(**node));
            node.map(|node| (*cpu, *node))
        };
        let of_unlisted: BTreeMap<CpuId, NodeId> =
            unclaimed.iter().filter_map(|cpu| linked(&cpu)).collect();
        let left = unclaimed
            .iter()
            .filter(|cpu| !of_unlisted.contains_key(cpu));
        let left: CpuSet = left.collect();
        node_of_cpu.extend(&of_unlisted);
        let only = claims
            .unlisted
            .first()
            .filter(|_| claims.unlisted.len() == 1);
        // Where only lists of nodes tell of CPUs, nothing is left over for those without.
        let are_of_nodes = lists.source == CpuSource::Nodes;
        let what = match only {
            _ if unclaimed.is_empty() && are_of_nodes => {
                unknown = claims.unlisted.clone();
                UNKNOWN
            }
            _ if unclaimed.is_empty() => NOTHING_LEFT,
            _ if left.is_empty() => BY_LINKS,
            Some(only) => {
                node_of_cpu.extend(left.iter().map(|cpu| (cpu, only)));
                BY_REST
            }
            None => {
                unknown = claims.unlisted.clone();
                UNKNOWN
            }
        };
        gaps.of_nodes(&claims.unlisted, what);
    }
    let cpus_of = |node| {
        let of_node = node_of_cpu.iter().filter(|(_, of)| **of == node);
        of_node.map(|(cpu, _)| *cpu).collect()
    };
    let known = |node| (!unknown.contains(node)).then(|| cpus_of(node));
    Ok(nodes.iter().map(|node| (node, known(node))).collect())
}

const NOTHING_LEFT: &str = "no cpulist or cpumap; all online CPUs are on other nodes";
const BY_LINKS: &str =
    "no cpulist or cpumap; CPUs placed by the links in directories of CPUs and nodes";
const BY_REST: &str = "no cpulist or cpumap; taken to have all CPUs that no other node lists";
const UNKNOWN: &str = "CPUs unknown (no cpulist or cpumap)";

/// What the lists of the nodes say.
#[derive(Default)]
struct Claims {
    /// For each online CPU, the nodes that list it, ascending.
    nodes_of_cpu: BTreeMap<CpuId, Vec<NodeId>>,
    /// CPUs that are listed but not online.
    not_online: CpuSet,
    /// Nodes without a list.
    unlisted: NodeSet,
}

impl Claims {
    fn read(root: &Root, nodes: &NodeSet, online: &CpuSet) -> Result<Self, Error> {
        let mut claims = Self::default();
        let mut not_online = Vec::new();
        for node in nodes {
            let Some(cpus) = sysfs_nodes::cpus(root, node)? else {
                claims.unlisted.insert(node);
                continue;
            };
            for cpu in &cpus {
                if online.contains(cpu) {
                    claims.nodes_of_cpu.entry(cpu).or_default().push(node);
                } else {
                    not_online.push(cpu);
                }
            }
        }
        claims.not_online = not_online.into_iter().collect();
        Ok(claims)
    }

    fn disputed(&self) -> CpuSet {
        let claims = self.nodes_of_cpu.iter();
        let disputed = claims.filter(|(_, nodes)| nodes.len() > 1);
        disputed.map(|(cpu, _)| *cpu).collect()
    }

    fn unclaimed(&self, online: &CpuSet) -> CpuSet {
        let unclaimed = online
            .iter()
            .filter(|cpu| !self.nodes_of_cpu.contains_key(cpu));
        unclaimed.collect()
    }

    /// Whether links would settle nothing.
    fn are_clear(&self, open: &CpuSet) -> bool {
        open.is_empty() || (self.unlisted.is_empty() && self.disputed().is_empty())
    }

    /// The node of each CPU that is in a list. A CPU in several lists is on the node that its links
    /// name, or else on the lowest.
    fn settled(&self, links: &BTreeMap<CpuId, NodeId>, gaps: &mut Gaps) -> BTreeMap<CpuId, NodeId> {
        let mut node_of_cpu = BTreeMap::new();
        let (mut by_link, mut by_number) = (CpuSet::new(), CpuSet::new());
        for (cpu, nodes) in &self.nodes_of_cpu {
            let linked = links.get(cpu).filter(|node| nodes.contains(node));
            let node = match (nodes.as_slice(), linked) {
                ([only], _) => only,
                (_, Some(linked)) => {
                    by_link.insert(*cpu);
                    linked
                }
                ([], None) => continue,
                ([lowest, ..], None) => {
                    by_number.insert(*cpu);
                    lowest
                }
            };
            node_of_cpu.insert(*cpu, *node);
        }
        gaps.of_cpus(
            &by_link,
            "listed by several nodes; placed by the links in directories of CPUs and nodes",
        );
        gaps.of_cpus(&by_number, "listed by several nodes; placed on the lowest");
        node_of_cpu
    }
}

/// The node of each of these CPUs, from links in its own directory or in those of nodes, where they
/// name exactly one.
fn links(root: &Root, nodes: &NodeSet, cpus: &CpuSet) -> Result<BTreeMap<CpuId, NodeId>, Error> {
    let mut linked: BTreeMap<CpuId, NodeSet> = BTreeMap::new();
    for (cpu, own) in of_each(cpus, |cpu| sysfs_cpus::linked_nodes(root, cpu))? {
        linked.insert(cpu, own.intersection(nodes));
    }
    for node in nodes {
        for cpu in &sysfs_nodes::linked_cpus(root, node)? {
            if let Some(nodes) = linked.get_mut(&cpu) {
                nodes.insert(node);
            }
        }
    }
    let only = |(cpu, nodes): (CpuId, NodeSet)| {
        let node = nodes.first().filter(|_| nodes.len() == 1)?;
        Some((cpu, node))
    };
    Ok(linked.into_iter().filter_map(only).collect())
}
