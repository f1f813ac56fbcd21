//! What the pools of huge pages tell about pages that could not be seen: none can lie on a node
//! whose pool has no pages in use beyond those found.

use model::{BytesByNode, ResidencyMethod, SegmentResidency, Topology};

/// Sets, for every segment of huge pages with unseen pages, the most of them that may lie on each
/// node. Other programs may use the same pools, so it may be less.
pub(super) fn set(segments: &mut [SegmentResidency], method: ResidencyMethod, topology: &Topology) {
    for index in 0..segments.len() {
        let unseen = unseen_bytes(&segments[index], method);
        let page_bytes = segments[index].page_bytes;
        segments[index].unseen_at_most_by_node = page_bytes
            .filter(|_| unseen > 0)
            .and_then(|page_bytes| room(segments, page_bytes, topology))
            .map(|room| capped(room, unseen));
    }
}

/// Bytes of a segment that are, or with numa_maps may be, in pages that no process showed.
fn unseen_bytes(segment: &SegmentResidency, method: ResidencyMethod) -> u64 {
    match method {
        ResidencyMethod::NumaMaps => segment.mapped_bytes.saturating_sub(segment.bytes()),
        ResidencyMethod::Pagemap | ResidencyMethod::PagemapSampled => segment.bytes_without_node,
    }
}

/// Bytes in use in every node's pool of this page size that were not found in a segment; `None`
/// when there is no such pool, or a node does not report how much of it is free.
fn room(
    segments: &[SegmentResidency],
    page_bytes: u64,
    topology: &Topology,
) -> Option<BytesByNode> {
    let mut room = BytesByNode::new();
    for node in &topology.nodes {
        let mut pools = node.huge_pages.iter();
        let Some(pool) = pools.find(|pool| pool.page_bytes == page_bytes) else {
            continue;
        };
        let used = pool.total.saturating_sub(pool.free?);
        let of_size = segments
            .iter()
            .filter(|it| it.page_bytes == Some(page_bytes));
        let found = of_size.filter_map(|segment| segment.bytes_by_node.get(&node.id));
        let found = found.fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        let used_bytes = used.saturating_mul(page_bytes);
        room.insert(node.id, used_bytes.saturating_sub(found));
    }
    (!room.is_empty()).then_some(room)
}

fn capped(mut room: BytesByNode, bytes_max: u64) -> BytesByNode {
    room.values_mut()
        .for_each(|bytes| *bytes = bytes_max.min(*bytes));
    room
}

#[cfg(test)]
mod tests {
    use model::{Node, NodeHugePages, NodeId};

    use super::*;

    const HUGE: u64 = 2 << 20;

    /// Nodes with (total, free) pages in their pools.
    fn topology(pools: &[(u64, Option<u64>)]) -> Topology {
        let node = |(id, (total, free)): (u32, &(u64, Option<u64>))| Node {
            id: NodeId(id),
            huge_pages: vec![NodeHugePages {
                page_bytes: HUGE,
                total: *total,
                free: *free,
                surplus: None,
            }],
            ..Node::default()
        };
        Topology {
            nodes: (0..).zip(pools).map(node).collect(),
            ..Topology::default()
        }
    }

    fn segment(found: &[(u32, u64)], unseen: u64, page_bytes: u64) -> SegmentResidency {
        let bytes = |(node, pages): &(u32, u64)| (NodeId(*node), pages * HUGE);
        SegmentResidency {
            page_bytes: Some(page_bytes),
            mapped_bytes: 100 * HUGE,
            bytes_by_node: found.iter().map(bytes).collect(),
            bytes_without_node: unseen * HUGE,
            ..SegmentResidency::default()
        }
    }

    #[test]
    fn what_is_in_use_and_was_not_found_bounds_what_is_unseen() {
        let check = |segments: &[SegmentResidency],
                     pools: &[(u64, Option<u64>)],
                     expected: Option<&[u64]>| {
            let mut segments = segments.to_vec();
            set(&mut segments, ResidencyMethod::Pagemap, &topology(pools));
            let found = segments[0].unseen_at_most_by_node.as_ref();
            let found: Option<Vec<u64>> =
                found.map(|bytes| bytes.values().map(|it| it / HUGE).collect());
            assert_eq!(found.as_deref(), expected);
        };
        let mine = segment(&[(0, 10), (1, 2)], 60, HUGE);
        check(
            std::slice::from_ref(&mine),
            &[(100, Some(20)), (50, Some(48))],
            Some(&[60, 0]),
        );
        check(
            std::slice::from_ref(&mine),
            &[(40, Some(0)), (50, Some(8))],
            Some(&[30, 40]),
        );
        let other = segment(&[(0, 25)], 0, HUGE);
        check(
            &[mine.clone(), other],
            &[(40, Some(0)), (50, Some(8))],
            Some(&[5, 40]),
        );
        check(&[mine], &[(40, None), (50, Some(8))], None);
        check(&[segment(&[], 60, 4096)], &[(40, Some(0))], None);
        check(&[segment(&[(0, 10)], 0, HUGE)], &[(40, Some(0))], None);
    }

    #[test]
    fn without_frame_numbers_all_that_is_mapped_may_be_there() {
        let mut segments = [segment(&[(0, 10)], 0, HUGE)];
        let pools = topology(&[(30, Some(0)), (200, Some(0))]);
        set(&mut segments, ResidencyMethod::NumaMaps, &pools);
        let expected: BytesByNode = [(NodeId(0), 20 * HUGE), (NodeId(1), 90 * HUGE)].into();
        assert_eq!(segments[0].unseen_at_most_by_node, Some(expected));
    }
}
