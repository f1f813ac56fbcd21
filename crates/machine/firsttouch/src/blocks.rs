//! Who touched the pages under some blocks of a segment first, such as the blocks of each table in
//! a buffer pool.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use linux::proc_maps::ObjectId;
use model::{NodeId, RelationTouch};

use crate::page_records::BEFORE;
use crate::tracker::Tracker;

/// Blocks of one segment, in groups.
#[derive(Debug, Clone)]
pub struct Blocks {
    /// The segment.
    pub object: ObjectId,
    /// Size of a block.
    pub block_bytes: u64,
    /// Number of groups.
    pub groups: usize,
    /// The offset of each block in the segment, with its group.
    pub list: Vec<(u64, usize)>,
}

/// First touches of the pages under the blocks of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupTouches {
    /// By class of process and node of its CPU, the most first.
    pub touched: Vec<RelationTouch>,
    /// Bytes on pages that were there before the look.
    pub before_bytes: u64,
    /// Bytes on pages whose first touch was not seen.
    pub unseen_bytes: u64,
}

/// Bytes by toucher of one group.
#[derive(Default)]
struct Sums<'t> {
    touched: BTreeMap<(&'t str, Option<NodeId>), u64>,
    before_bytes: u64,
    unseen_bytes: u64,
}

/// Returns the first touches of every group; `None` when the target was not seen to map the
/// segment.
pub(crate) fn of(tracker: &Tracker, blocks: &Blocks) -> Option<Vec<GroupTouches>> {
    let mut segments = tracker.segments.list.iter();
    let index = segments.position(|segment| blocks.object.may_be(&segment.object))?;
    let page_bytes = tracker.segments.list[index].page_bytes;
    let mut sums: Vec<Sums<'_>> = Vec::new();
    sums.resize_with(blocks.groups, Sums::default);
    for (offset, group) in &blocks.list {
        let Some(sums) = sums.get_mut(*group) else {
            continue;
        };
        let end = offset.saturating_add(blocks.block_bytes);
        let mut at = *offset;
        while at < end {
            let page = at / page_bytes;
            // A block may have a part of a page, and the other way round.
            let next = end.min((page + 1).saturating_mul(page_bytes)).max(at + 1);
            match tracker.pages.get(index, page) {
                None => sums.unseen_bytes += next - at,
                Some(record) if record.toucher == BEFORE => sums.before_bytes += next - at,
                Some(record) => {
                    let id = &tracker.touches[record.toucher as usize].id;
                    let class = tracker.processes.list[id.process].class.as_str();
                    *sums.touched.entry((class, id.node)).or_default() += next - at;
                }
            }
            at = next;
        }
    }
    Some(sums.into_iter().map(Sums::sorted).collect())
}

impl Sums<'_> {
    fn sorted(self) -> GroupTouches {
        let touched = self.touched.into_iter();
        let mut touched: Vec<RelationTouch> = touched
            .map(|((class, cpu_node), bytes)| RelationTouch {
                class: class.to_owned(),
                cpu_node,
                bytes,
            })
            .collect();
        touched.sort_by_key(|touch| Reverse(touch.bytes));
        GroupTouches {
            touched,
            before_bytes: self.before_bytes,
            unseen_bytes: self.unseen_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use linux::TextFile;
    use linux::page_faults::{FaultHappening, FaultRecord};
    use linux::proc_maps;
    use model::{CpuId, IdSet, Node, Topology};
    use proptest::prelude::*;

    use super::*;
    use crate::processes::Process;

    /// A segment of 16 pages of this size, of which process 7 on node 1 touched page 2, and page 3
    /// was there before.
    fn tracker(page_bytes: u64) -> (Tracker, ObjectId) {
        let node = Node {
            id: NodeId(1),
            cpus: IdSet::from_iter([CpuId(0)]),
            ..Node::default()
        };
        let topology = Topology {
            nodes: vec![node],
            ..Topology::default()
        };
        let mut tracker = Tracker::new(&topology, Box::new(move |_, _, _| page_bytes), 0);
        let end = 0x10_0000 + 16 * page_bytes;
        let line = format!("100000-{end:x} rw-s 00000000 00:01 7    /memfd:pool (deleted)\n");
        let mapping = proc_maps::parse(&TextFile::new("/maps", &line)).list[0].clone();
        tracker.follow(
            Process::new(7, "a", "warmer", 0),
            std::slice::from_ref(&mapping),
        );
        assert!(tracker.pages.was_before(0, 3));
        let happening = FaultHappening::Fault {
            pid: 7,
            address: mapping.start + 2 * page_bytes,
        };
        tracker.apply(&FaultRecord {
            time_ns: 1,
            cpu: 0,
            happening,
        });
        (tracker, mapping.object)
    }

    fn touches(page_bytes: u64, block_bytes: u64, list: &[(u64, usize)]) -> Vec<GroupTouches> {
        let (tracker, object) = tracker(page_bytes);
        let blocks = Blocks {
            object,
            block_bytes,
            groups: 2,
            list: list.to_vec(),
        };
        of(&tracker, &blocks).unwrap()
    }

    #[test]
    fn blocks_of_two_pages_and_pages_of_many_blocks_are_summed() {
        let by_warmer = |bytes| {
            vec![RelationTouch {
                class: "warmer".to_owned(),
                cpu_node: Some(NodeId(1)),
                bytes,
            }]
        };
        // Of pages 1 and 2, 2 and 3, 3 and 4.
        let small = touches(4096, 8192, &[(4096, 0), (8192, 1), (3 * 4096, 1)]);
        assert_eq!(small[0].touched, by_warmer(4096));
        assert_eq!((small[0].before_bytes, small[0].unseen_bytes), (0, 4096));
        assert_eq!(small[1].touched, by_warmer(4096));
        assert_eq!((small[1].before_bytes, small[1].unseen_bytes), (8192, 4096));
        let huge = touches(
            2 << 20,
            8192,
            &[(4 << 20, 0), ((4 << 20) + 8192, 0), (0, 1)],
        );
        assert_eq!(huge[0].touched, by_warmer(16384));
        assert_eq!(huge[1].unseen_bytes, 8192);
    }

    #[test]
    fn a_segment_that_was_not_looked_at_has_no_touches() {
        let (tracker, object) = tracker(4096);
        let object = ObjectId { inode: 8, ..object };
        let (block_bytes, groups, list) = (8192, 0, Vec::new());
        let blocks = Blocks {
            object,
            block_bytes,
            groups,
            list,
        };
        assert_eq!(of(&tracker, &blocks), None);
    }

    proptest! {
        #[test]
        fn every_byte_of_a_block_is_counted_once(
            list in prop::collection::vec((0..1_u64 << 20, 0..2_usize), 0..50),
            block_bytes in 1..20_000_u64,
        ) {
            let all: u64 = touches(4096, block_bytes, &list)
                .iter()
                .map(|group| {
                    let touched: u64 = group.touched.iter().map(|it| it.bytes).sum();
                    touched + group.before_bytes + group.unseen_bytes
                })
                .sum();
            prop_assert_eq!(all, block_bytes * list.len() as u64);
        }
    }
}
