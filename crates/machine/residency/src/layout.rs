//! How shared memory is laid out over nodes, by the policies of its areas: interleaved, or a pool
//! for each node, as a NUMA-aware instance makes them.

use model::{Layout, NodeId, NodeSet, SegmentResidency};

/// A layout is named after the policy of more than this share of the shared memory.
const MOST_PERCENT: u64 = 50;

/// The node of a policy that names exactly one: `prefer:25`, `bind:3`, `bind=static:3`.
pub fn node_of_pool(policy: &str) -> Option<NodeId> {
    let (mode, nodes) = policy.rsplit_once(':')?;
    let is_pool = mode.starts_with("prefer") || mode.starts_with("bind");
    let nodes: NodeSet = nodes.parse().ok()?;
    nodes.first().filter(|_| is_pool && nodes.len() == 1)
}

/// Policy and bytes of every area of shared memory.
pub(super) fn areas(segments: &[SegmentResidency]) -> Vec<(&str, u64)> {
    let shared = segments
        .iter()
        .filter(|segment| segment.kind.is_shared_memory());
    let mut areas = Vec::new();
    for segment in shared {
        match &segment.policy {
            Some(policy) if segment.areas.is_empty() => {
                areas.push((policy.as_str(), segment.bytes()))
            }
            _ => areas.extend(
                segment
                    .areas
                    .iter()
                    .map(|area| (area.policy.as_str(), area.bytes_by_node.values().sum())),
            ),
        }
    }
    areas
}

/// The layout of the shared memory of a target.
pub(super) fn layout(segments: &[SegmentResidency]) -> Layout {
    let areas = areas(segments);
    let bytes = |chosen: &dyn Fn(&str) -> bool| -> u64 {
        areas
            .iter()
            .filter(|(policy, _)| chosen(policy))
            .map(|(_, bytes)| bytes)
            .sum()
    };
    let all = bytes(&|_| true);
    let is_most = |bytes: u64| bytes > all / 100 * MOST_PERCENT;
    if all == 0 {
        return Layout::Unknown;
    }
    let pools = areas.iter().filter(|(_, bytes)| *bytes > 0);
    let nodes: NodeSet = pools
        .filter_map(|(policy, _)| node_of_pool(policy))
        .collect();
    if is_most(bytes(&|policy| policy.contains("interleave"))) {
        Layout::Interleaved
    } else if is_most(bytes(&|policy| node_of_pool(policy).is_some())) {
        if nodes.len() > 1 {
            Layout::PoolPerNode
        } else {
            Layout::OneNode
        }
    } else {
        Layout::Default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_one_node_make_pools() {
        let check = |policy, node: Option<u32>| {
            assert_eq!(node_of_pool(policy), node.map(NodeId), "{policy}");
        };
        check("prefer:25", Some(25));
        check("bind=static:3", Some(3));
        check("prefer (many):1", Some(1));
        check("bind:0-3", None);
        check("interleave:0", None);
        check("default", None);
    }

    #[test]
    fn the_layout_is_that_of_most_of_the_memory() {
        let segment = |policy: &str, bytes| SegmentResidency {
            kind: model::SegmentKind::Sysv,
            policy: Some(policy.to_owned()),
            bytes_by_node: [(NodeId(0), bytes)].into(),
            ..SegmentResidency::default()
        };
        let check = |segments: &[SegmentResidency], expected| {
            assert_eq!(layout(segments), expected);
        };
        check(&[], Layout::Unknown);
        check(&[segment("default", 1000)], Layout::Default);
        check(
            &[segment("interleave:0-7", 1000), segment("prefer:1", 10)],
            Layout::Interleaved,
        );
        check(
            &[segment("prefer:1", 1000), segment("prefer:1", 10)],
            Layout::OneNode,
        );
        check(
            &[segment("bind:1", 500), segment("bind:2", 500)],
            Layout::PoolPerNode,
        );
    }
}
