//! What was found of one object so far: which of its pages, on which nodes, under which policies.

use std::collections::{BTreeMap, BTreeSet};

use linux::map_files::MappedObject;
use linux::proc_maps::ObjectId;
use model::{BytesByNode, NodeId, Sampled, SegmentArea, SegmentKind, SegmentResidency};

use super::page_set::PageSet;
use super::sampling::{Bytes, Counts, Sample};

/// The policy of a segment whose parts have several.
const MIXED: &str = "mixed";

/// A part of an object, as offsets in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    /// First offset.
    pub start: u64,
    /// First offset after it.
    pub end: u64,
}

/// A part of an object and its policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    /// Where it is.
    pub span: Span,
    /// The policy in the kernel's words.
    pub policy: String,
}

/// What was found of one object.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: SegmentKind,
    /// Its id, where that is known.
    pub object: Option<ObjectId>,
    /// Size of its pages.
    pub page_bytes: Option<u64>,
    /// The processes that have it mapped.
    pub pids: BTreeSet<u32>,
    /// The parts that they have mapped.
    pub spans: BTreeSet<Span>,
    /// Parts with a policy, ascending and without overlap.
    pub areas: Vec<Area>,
    /// Bytes of each area by node; one more entry for what lies outside all areas.
    pub bytes_by_area: Vec<BytesByNode>,
    /// Pages that were counted already.
    pub known: PageSet,
    /// Bytes that exist, by the kernel's count.
    pub allocated_bytes: Option<u64>,
    /// Bytes of these that were set aside and never written.
    pub never_written_bytes: u64,
    /// Bytes found whose node is unknown.
    pub bytes_without_node: u64,
    /// Whether only a sample of its pages is inspected.
    pub is_sampled: bool,
    /// The result of that sample.
    pub sampled: Option<Sampled>,
}

impl Tally {
    /// Splits `span` into parts that lie in one area each, with the index of the area.
    pub(super) fn parts(&self, span: Span) -> Vec<(Span, usize)> {
        let outside = self.areas.len();
        let mut parts = Vec::new();
        let mut at = span.start;
        for (index, area) in self.areas.iter().enumerate() {
            let (start, end) = (area.span.start.max(at), area.span.end.min(span.end));
            if start >= end {
                continue;
            }
            if at < start {
                parts.push((
                    Span {
                        start: at,
                        end: start,
                    },
                    outside,
                ));
            }
            parts.push((Span { start, end }, index));
            at = end;
        }
        if at < span.end {
            parts.push((
                Span {
                    start: at,
                    end: span.end,
                },
                outside,
            ));
        }
        parts
    }

    /// Adds bytes on a node to an area.
    pub(super) fn add(&mut self, area: usize, node: NodeId, bytes: u64) {
        if self.bytes_by_area.len() <= area {
            self.bytes_by_area.resize(area + 1, BytesByNode::new());
        }
        *self.bytes_by_area[area].entry(node).or_default() += bytes;
    }

    /// Counts huge page `number` of the object, unless it was counted before.
    pub(super) fn add_huge_page(
        &mut self,
        number: u64,
        bytes: u64,
        area: usize,
        node: Option<NodeId>,
    ) {
        if !self.known.insert(number) {
            return;
        }
        match node {
            Some(node) => self.add(area, node, bytes),
            None => self.bytes_without_node += bytes,
        }
    }

    /// Adds the result of a sample.
    pub(super) fn estimate(&mut self, counts: &Counts, object: &MappedObject, sample: &Sample) {
        self.add_estimated(counts.bytes(object.allocated_bytes, object.bytes));
        self.sampled = Some(counts.sampled(sample.seed, &sample.memory_nodes));
    }

    fn add_estimated(&mut self, bytes: Bytes) {
        for ((area, node), bytes) in bytes.found {
            match node {
                Some(node) => self.add(area, node, bytes),
                None => self.bytes_without_node += bytes,
            }
        }
        self.bytes_without_node += bytes.missing;
    }

    /// All that was found, by node.
    pub(super) fn bytes_by_node(&self) -> BytesByNode {
        let mut sum = BytesByNode::new();
        for area in &self.bytes_by_area {
            add_bytes(&mut sum, area);
        }
        sum
    }

    /// Bytes found, whether their node is known or not.
    pub(super) fn found_bytes(&self) -> u64 {
        self.bytes_by_node()
            .values()
            .sum::<u64>()
            .saturating_add(self.bytes_without_node)
    }

    /// Length of everything mapped, with overlaps counted once.
    pub(super) fn mapped_bytes(&self) -> u64 {
        union_bytes(self.spans.iter().copied())
    }

    /// Describes the object. `all_seen`: whether every process of the target could be read.
    pub(super) fn into_segment(self, all_seen: bool) -> SegmentResidency {
        let found = self.found_bytes();
        let seen = found.saturating_add(self.never_written_bytes);
        let missing = self
            .allocated_bytes
            .map_or(0, |all| all.saturating_sub(seen));
        let bytes_by_node = self.bytes_by_node();
        let mapped_bytes = self.mapped_bytes();
        let areas = self.areas_by_policy();
        let policy = match &areas[..] {
            [] => None,
            [only] => Some(only.policy.clone()),
            _ => Some(MIXED.to_owned()),
        };
        // Of a file, only what is mapped counts; of shared memory, all that exists.
        let complete = match (self.kind.is_shared_memory(), self.allocated_bytes) {
            (true, Some(_)) => missing == 0 && self.bytes_without_node == 0,
            (true, None) => false,
            (false, _) => all_seen && self.bytes_without_node == 0,
        };
        SegmentResidency {
            name: self.name,
            kind: self.kind,
            sysv: None,
            page_bytes: self.page_bytes,
            policy,
            areas: if areas.len() > 1 { areas } else { Vec::new() },
            processes: self.pids.len() as u32,
            mapped_bytes,
            allocated_bytes: self.allocated_bytes,
            never_written_bytes: self.never_written_bytes,
            bytes_by_node,
            bytes_without_node: self.bytes_without_node
                + if self.kind.is_shared_memory() {
                    missing
                } else {
                    0
                },
            unseen_at_most_by_node: None,
            complete: complete && !self.is_sampled,
            sampled: self.sampled,
        }
    }

    /// The areas, joined by policy, in order of first occurrence.
    fn areas_by_policy(&self) -> Vec<SegmentArea> {
        let mut areas: Vec<SegmentArea> = Vec::new();
        for (index, area) in self.areas.iter().enumerate() {
            let at = areas.iter().position(|known| known.policy == area.policy);
            let at = at.unwrap_or_else(|| {
                let policy = area.policy.clone();
                areas.push(SegmentArea {
                    policy,
                    ..SegmentArea::default()
                });
                areas.len() - 1
            });
            areas[at].mapped_bytes += area.span.end - area.span.start;
            if let Some(bytes) = self.bytes_by_area.get(index) {
                add_bytes(&mut areas[at].bytes_by_node, bytes);
            }
        }
        areas
    }
}

/// Adds `more` to `sum`.
pub(super) fn add_bytes(sum: &mut BytesByNode, more: &BytesByNode) {
    for (node, bytes) in more {
        let entry = sum.entry(*node).or_default();
        *entry = entry.saturating_add(*bytes);
    }
}

/// The length of the union of spans in ascending order.
fn union_bytes(spans: impl Iterator<Item = Span>) -> u64 {
    let (mut bytes, mut reached) = (0_u64, 0);
    for span in spans {
        let start = span.start.max(reached);
        bytes = bytes.saturating_add(span.end.saturating_sub(start));
        reached = reached.max(span.end);
    }
    bytes
}

/// The larger of two figures, node by node.
pub(super) fn max_bytes(most: &mut BTreeMap<NodeId, u64>, other: &BTreeMap<NodeId, u64>) {
    for (node, bytes) in other {
        let entry = most.entry(*node).or_default();
        *entry = (*entry).max(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(start: u64, end: u64) -> Span {
        Span { start, end }
    }

    #[test]
    fn a_span_is_divided_at_the_borders_of_policies() {
        let area = |start, end| Area {
            span: span(start, end),
            policy: "default".to_owned(),
        };
        let tally = Tally {
            areas: vec![area(10, 20), area(20, 30)],
            ..Tally::default()
        };
        let expected = [
            (span(5, 10), 2),
            (span(10, 20), 0),
            (span(20, 30), 1),
            (span(30, 40), 2),
        ];
        assert_eq!(tally.parts(span(5, 40)), expected);
        assert_eq!(tally.parts(span(12, 14)), [(span(12, 14), 0)]);
    }

    #[test]
    fn a_huge_page_is_counted_once_where_it_lies() {
        let mut tally = Tally::default();
        let pages = [
            (4, 0, Some(NodeId(1))),
            (7, 2, Some(NodeId(1))),
            (4, 0, Some(NodeId(0))),
            (8, 2, Some(NodeId(1))),
            (9, 1, None),
            (9, 1, Some(NodeId(0))),
            (3, 1, None),
        ];
        for (number, area, node) in pages {
            tally.add_huge_page(number, 10, area, node);
        }
        let on_1 = |bytes| BytesByNode::from([(NodeId(1), bytes)]);
        assert_eq!(
            tally.bytes_by_area,
            [on_1(10), BytesByNode::new(), on_1(20)]
        );
        assert_eq!(tally.bytes_without_node, 20);
        assert_eq!(tally.bytes_by_node(), on_1(30));
    }

    #[test]
    fn of_two_figures_the_larger_is_kept_node_by_node() {
        let figures = |figures: [(u32, u64); 2]| -> BytesByNode {
            figures.map(|(node, bytes)| (NodeId(node), bytes)).into()
        };
        let mut most = figures([(0, 5), (1, 5)]);
        max_bytes(&mut most, &figures([(1, 7), (2, 3)]));
        max_bytes(&mut most, &figures([(0, 4), (2, 3)]));
        assert_eq!(most.into_values().collect::<Vec<_>>(), [5, 7, 3]);
    }

    #[test]
    fn a_sample_divides_what_is_allocated_and_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("object");
        std::fs::write(&path, [1; 3 * 4096]).unwrap();
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        let object = MappedObject::open_to_look(&path).unwrap().unwrap();
        let mut counts = Counts {
            pages: 2,
            ..Counts::default()
        };
        counts.add(0, Some(NodeId(1)));
        counts.add(0, Some(NodeId(1)));
        let memory_nodes = NODES.into_iter().collect();
        let sample = Sample {
            seed: 7,
            memory_nodes,
        };
        let mut tally = Tally::default();
        tally.estimate(&counts, &object, &sample);
        assert!(object.allocated_bytes > 0);
        let all = BytesByNode::from([(NodeId(1), object.allocated_bytes)]);
        assert_eq!(tally.bytes_by_node(), all);
        let sampled = tally.sampled.unwrap();
        assert_eq!(
            (sampled.seed, sampled.pages, sampled.pages_found),
            (7, 2, 2)
        );
    }

    const NODES: [NodeId; 2] = [NodeId(0), NodeId(1)];

    #[test]
    fn what_is_estimated_without_a_node_is_added_to_what_has_none() {
        let mut tally = Tally {
            bytes_without_node: 1,
            ..Tally::default()
        };
        let found = [((0, Some(NODES[1])), 40), ((0, None), 6)];
        tally.add_estimated(Bytes {
            found: found.into(),
            missing: 100,
        });
        assert_eq!(tally.bytes_without_node, 107);
        assert_eq!(tally.bytes_by_node(), [(NODES[1], 40)].into());
    }

    /// Shared memory of 100 bytes that exist, 60 of them found on node 0, all under one policy.
    fn shared() -> Tally {
        Tally {
            kind: SegmentKind::Sysv,
            pids: [1, 2].into(),
            spans: [span(0, 60), span(40, 100)].into(),
            areas: vec![Area {
                span: span(0, 100),
                policy: "bind:0".to_owned(),
            }],
            bytes_by_area: vec![[(NODES[0], 60)].into()],
            allocated_bytes: Some(100),
            never_written_bytes: 40,
            ..Tally::default()
        }
    }

    #[test]
    fn shared_memory_is_complete_when_all_that_exists_was_found_or_never_written() {
        let whole = shared().into_segment(false);
        assert!(whole.complete);
        assert_eq!((whole.mapped_bytes, whole.processes), (100, 2));
        assert_eq!(whole.policy.as_deref(), Some("bind:0"));
        assert_eq!((whole.areas.len(), whole.bytes_without_node), (0, 0));
        let check = |tally: Tally, all_seen, complete, without_node| {
            let segment = tally.clone().into_segment(all_seen);
            let found = (segment.complete, segment.bytes_without_node);
            assert_eq!(found, (complete, without_node), "{tally:?}");
        };
        let missing = Tally {
            never_written_bytes: 30,
            ..shared()
        };
        check(missing, true, false, 10);
        let somewhere = Tally {
            never_written_bytes: 30,
            bytes_without_node: 10,
            ..shared()
        };
        check(somewhere, true, false, 10);
        let unknown = Tally {
            allocated_bytes: None,
            ..shared()
        };
        check(unknown, true, false, 0);
        let sampled = Tally {
            is_sampled: true,
            ..shared()
        };
        check(sampled, true, false, 0);
    }

    #[test]
    fn a_file_is_complete_when_everybody_was_seen() {
        let file = |bytes_without_node| Tally {
            kind: SegmentKind::File,
            never_written_bytes: 0,
            bytes_without_node,
            ..shared()
        };
        let check = |tally: Tally, all_seen, complete| {
            let segment = tally.into_segment(all_seen);
            assert_eq!(segment.complete, complete);
            segment.bytes_without_node
        };
        // What else of the file exists does not matter.
        assert_eq!(check(file(0), true, true), 0);
        assert_eq!(check(file(0), false, false), 0);
        assert_eq!(check(file(5), true, false), 5);
    }

    #[test]
    fn areas_of_one_policy_are_put_together_and_several_are_mixed() {
        let area = |start, end, policy: &str| Area {
            span: span(start, end),
            policy: policy.to_owned(),
        };
        let tally = Tally {
            areas: vec![
                area(10, 30, "bind:0"),
                area(30, 35, "bind:1"),
                area(50, 57, "bind:0"),
            ],
            bytes_by_area: vec![
                [(NODES[0], 20)].into(),
                [(NODES[1], 5)].into(),
                [(NODES[0], 4), (NODES[1], 3)].into(),
            ],
            ..shared()
        };
        let segment = tally.into_segment(true);
        assert_eq!(segment.policy.as_deref(), Some(MIXED));
        let areas: Vec<_> = segment
            .areas
            .iter()
            .map(|it| (it.policy.as_str(), it.mapped_bytes, &it.bytes_by_node))
            .collect();
        let of_0 = BytesByNode::from([(NODES[0], 24), (NODES[1], 3)]);
        let of_1 = BytesByNode::from([(NODES[1], 5)]);
        assert_eq!(areas, [("bind:0", 27, &of_0), ("bind:1", 5, &of_1)]);
        let none = Tally {
            areas: Vec::new(),
            ..shared()
        };
        assert_eq!(none.into_segment(true).policy, None);
    }

    proptest! {
        #[test]
        fn parts_cover_a_span_exactly(
            borders in prop::collection::btree_set(0..100_u64, 0..8),
            start in 0..100_u64,
            bytes in 1..100_u64,
        ) {
            let borders: Vec<u64> = borders.into_iter().collect();
            let areas = borders.chunks_exact(2).map(|pair| Area {
                span: span(pair[0], pair[1]),
                policy: String::new(),
            });
            let tally = Tally { areas: areas.collect(), ..Tally::default() };
            let parts = tally.parts(span(start, start + bytes));
            let mut at = start;
            for (part, _) in parts {
                prop_assert_eq!(part.start, at);
                at = part.end;
            }
            prop_assert_eq!(at, start + bytes);
        }
    }
}
