//! Describes the layout of a target's shared memory in a sentence: its policy, and where its pages
//! lie if elsewhere. A policy governs only the allocation of new pages: existing pages stay, and
//! pages that another process touches or moves follow other rules (mbind(2)).

use std::collections::BTreeMap;

use model::{BytesByNode, Layout, NodeId, NodeSet, Residency, SegmentResidency, counted};

use crate::residency::figures::percent;

/// Minimum share of the shared memory elsewhere that is reported, in percent.
const ELSEWHERE_PERCENT: u64 = 10;

/// Returns the sentence of the heading; `None` where the policies are unknown.
pub fn layout_sentence(residency: &Residency) -> Option<String> {
    let policy = match residency.layout {
        Layout::Interleaved => "the policy interleaves shared memory over nodes",
        Layout::PoolPerNode => &format!(
            "shared memory has a pool on each of {}: the instance is NUMA-aware",
            counted(pools(&residency.segments), "node")
        ),
        Layout::OneNode => "the policy binds shared memory to one node, or prefers one",
        Layout::Default => {
            return Some(
                "shared memory has no policy: each page is where it was first touched".to_owned(),
            );
        }
        Layout::Unknown => return None,
    };
    let shares = Shares::of(&residency.segments);
    if shares.elsewhere * 100 < shares.all() * ELSEWHERE_PERCENT {
        return Some(policy.to_owned());
    }
    let elsewhere = percent(shares.elsewhere, shares.all());
    let lies = shares.words(&residency.memory_nodes);
    Some(format!(
        "{policy}, but {elsewhere} of its pages lie elsewhere: {lies}"
    ))
}

/// How many nodes a policy names alone.
fn pools(segments: &[SegmentResidency]) -> usize {
    let policies = segments.iter().flat_map(|segment| {
        let areas = segment.areas.iter().map(|area| area.policy.as_str());
        areas.chain(segment.policy.as_deref())
    });
    let nodes = policies.filter_map(|policy| Some(nodes_of(policy)?.1));
    let single = nodes.filter(|nodes| nodes.len() == 1);
    single
        .fold(NodeSet::default(), |all, one| all.union(&one))
        .len()
}

/// The bytes of shared memory with a policy.
#[derive(Default)]
struct Shares {
    by_node: BytesByNode,
    /// Bytes on a node other than the policy's.
    elsewhere: u64,
}

impl Shares {
    fn of(segments: &[SegmentResidency]) -> Self {
        let mut shares = Shares::default();
        for segment in segments.iter().filter(|it| it.kind.is_shared_memory()) {
            for area in &segment.areas {
                shares.add(&area.policy, &area.bytes_by_node);
            }
            if let (true, Some(policy)) = (segment.areas.is_empty(), &segment.policy) {
                shares.add(policy, &segment.bytes_by_node);
            }
        }
        shares
    }

    fn add(&mut self, policy: &str, bytes_by_node: &BytesByNode) {
        let Some((mode, nodes)) = nodes_of(policy) else {
            return;
        };
        let all: u64 = bytes_by_node.values().sum();
        let even = all / (nodes.len() as u64).max(1);
        for (node, bytes) in bytes_by_node {
            *self.by_node.entry(*node).or_default() += bytes;
            let wanted = match (nodes.contains(*node), mode.starts_with("interleave")) {
                (false, _) => 0,
                (true, true) => even,
                // With weights or other modes, any amount on these nodes conforms.
                (true, false) => *bytes,
            };
            self.elsewhere += bytes.saturating_sub(wanted);
        }
    }

    fn all(&self) -> u64 {
        self.by_node.values().sum()
    }

    /// Returns `node 0 100.0 %, others none`.
    fn words(&self, memory_nodes: &NodeSet) -> String {
        let all = self.all();
        let with_any: BTreeMap<NodeId, u64> = self
            .by_node
            .iter()
            .filter(|(_, bytes)| **bytes > 0)
            .map(|(node, bytes)| (*node, *bytes))
            .collect();
        let mut words: Vec<String> = with_any
            .iter()
            .map(|(node, bytes)| format!("node {node} {}", percent(*bytes, all)))
            .collect();
        if memory_nodes
            .iter()
            .any(|node| !with_any.contains_key(&node))
        {
            words.push("others none".to_owned());
        }
        words.join(", ")
    }
}

/// Parses the mode and the nodes of a policy that names nodes: `interleave:0-3`, `prefer (many):1`.
fn nodes_of(policy: &str) -> Option<(&str, NodeSet)> {
    let (mode, nodes) = policy.rsplit_once(':')?;
    Some((mode, nodes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use model::SegmentKind;

    use super::*;

    fn check(layout: Layout, policy: &str, gib: &[u64], expected: &str) {
        let bytes = gib
            .iter()
            .zip(0..)
            .map(|(gib, node)| (NodeId(node), gib << 30));
        let residency = Residency {
            layout,
            memory_nodes: "0-3".parse().unwrap(),
            segments: vec![SegmentResidency {
                kind: SegmentKind::Sysv,
                policy: Some(policy.to_owned()),
                bytes_by_node: bytes.collect(),
                ..SegmentResidency::default()
            }],
            ..Residency::default()
        };
        assert_eq!(layout_sentence(&residency).unwrap(), expected);
    }

    #[test]
    fn where_pages_lie_is_said_where_the_policy_says_something_else() {
        const INTERLEAVED: &str = "the policy interleaves shared memory over nodes";
        const ONE: &str = "the policy binds shared memory to one node, or prefers one";
        let but = |policy: &str, lies: &str| format!("{policy}, but {lies}");
        let check_interleaved = |policy, gib: &[u64], expected: &str| {
            check(Layout::Interleaved, policy, gib, expected);
        };
        check_interleaved("interleave:0-3", &[4, 4, 4, 4], INTERLEAVED);
        check_interleaved("interleave:0-3", &[5, 4, 4, 3], INTERLEAVED);
        check_interleaved("weighted interleave:0-1", &[9, 1], INTERLEAVED);
        let all_on_one = "75.0 % of its pages lie elsewhere: node 0 100.0 %, others none";
        check_interleaved("interleave:0-3", &[16], &but(INTERLEAVED, all_on_one));
        let outside = "50.0 % of its pages lie elsewhere: node 0 25.0 %, node 1 25.0 %, \
                       node 2 50.0 %, others none";
        check_interleaved("interleave:0-1", &[4, 4, 8], &but(INTERLEAVED, outside));
        check(Layout::OneNode, "bind:1", &[0, 4], ONE);
        let other = "75.0 % of its pages lie elsewhere: node 0 75.0 %, node 1 25.0 %, others none";
        check(Layout::OneNode, "prefer:1", &[3, 1], &but(ONE, other));
    }

    #[test]
    fn without_a_policy_nothing_lies_elsewhere() {
        let expected = "shared memory has no policy: each page is where it was first touched";
        check(Layout::Default, "default", &[16], expected);
    }
}
