//! The firmware's distances between the sessions of a trial and the memory of their SGA.

use std::collections::BTreeSet;

use model::{Evidence, NodeId, Topology, counted};

/// Maximum number of pairs of nodes that are listed one by one; more are summed up.
const PAIRS_SHOWN: usize = 3;

/// Describes the distances from the nodes where sessions ran to the nodes of their pages. Returns
/// `None` on a machine of one node, and where the firmware provides no distances.
pub(crate) fn of_sessions_to_sga(evidence: &Evidence, topology: &Topology) -> Option<String> {
    if topology.nodes.len() < 2 {
        return None;
    }
    let cpus = evidence
        .sessions
        .iter()
        .flat_map(|session| session.cpus_used.iter());
    let from: BTreeSet<NodeId> = cpus.filter_map(|cpu| topology.node_of_cpu(cpu)).collect();
    let by_node = evidence.sga.as_ref()?.bytes_by_node_before.iter();
    let to: BTreeSet<NodeId> = by_node
        .filter(|(_, bytes)| **bytes > 0)
        .map(|(node, _)| *node)
        .collect();
    let pairs = from
        .iter()
        .flat_map(|from| to.iter().map(move |to| (*from, *to)));
    let distances: Option<Vec<(NodeId, NodeId, u32)>> = pairs
        .map(|(from, to)| Some((from, to, topology.distance(from, to)?)))
        .collect();
    let distances = distances.filter(|distances| !distances.is_empty())?;
    if distances.len() <= PAIRS_SHOWN {
        let each = distances
            .iter()
            .map(|(from, to, distance)| match from == to {
                true => format!("{distance} (both on node {from})"),
                false => format!("{distance} (node {from} to node {to})"),
            });
        let each = each.collect::<Vec<_>>().join(", ");
        return Some(format!("distance from the sessions to the SGA: {each}"));
    }
    let only = distances.iter().map(|(_, _, distance)| *distance);
    let (least, most) = (only.clone().min()?, only.max()?);
    let pairs = counted(distances.len(), "pair");
    Some(format!(
        "distance from the sessions to the SGA: {least} to {most} over {pairs}"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{Evidence, Node, NodeId, SessionEvidence, SgaEvidence, Topology};

    use super::of_sessions_to_sga;

    fn check(cpus_used: &str, bytes_on: &[u32], expected: Option<&str>) {
        let node = |id: u32, cpus: &str| Node {
            id: NodeId(id),
            cpus: cpus.parse().unwrap(),
            ..Node::default()
        };
        let topology = Topology {
            nodes: vec![node(0, "0-1"), node(4, "2-3")],
            distances: Some(vec![vec![Some(10), Some(22)], vec![Some(22), Some(10)]]),
            ..Topology::default()
        };
        let by_node: BTreeMap<NodeId, u64> =
            bytes_on.iter().map(|node| (NodeId(*node), 4096)).collect();
        let evidence = Evidence {
            sga: Some(SgaEvidence {
                name: String::new(),
                page_bytes: 4096,
                policy: String::new(),
                bytes_by_node_before: by_node.clone(),
                bytes_by_node_after: by_node,
                bytes_without_node: 0,
                ..SgaEvidence::default()
            }),
            sessions: vec![SessionEvidence {
                pid: 1,
                cpus_allowed: cpus_used.parse().unwrap(),
                memory_nodes_allowed: "0,4".parse().unwrap(),
                cpus_used: cpus_used.parse().unwrap(),
                policy: String::new(),
                bytes_read_by_node: Default::default(),
                own_memory: None,
            }],
            ..Evidence::default()
        };
        let found = of_sessions_to_sga(&evidence, &topology);
        let expected =
            expected.map(|text| format!("distance from the sessions to the SGA: {text}"));
        assert_eq!(found, expected);
    }

    #[test]
    fn distances_are_between_the_nodes_used() {
        check("0", &[0], Some("10 (both on node 0)"));
        check("0-1", &[4], Some("22 (node 0 to node 4)"));
        check("0-3", &[0, 4], Some("10 to 22 over 4 pairs"));
        check("", &[0], None);
        check("77", &[0], None);
    }
}
