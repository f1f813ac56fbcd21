//! The node of a page frame: from the memory blocks of each node, and where a block spans several
//! nodes, from the zones.

use std::collections::BTreeMap;

use linux::proc_zoneinfo::Zone;
use linux::{Error, Root, memory_blocks, proc_zoneinfo, sysfs_nodes};
use model::{NodeId, NodeSet};

/// The frames of each node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Ranges without overlap, ascending.
    ranges: Vec<FrameRange>,
}

/// Frames `start` to `end - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrameRange {
    start: u64,
    end: u64,
    node: NodeId,
}

impl Frames {
    /// Reads which frames belong to which node. A machine with one node needs no files for that.
    ///
    /// # Errors
    /// When a file is malformed.
    pub fn read(root: &Root, page_bytes: u64) -> Result<Self, Error> {
        let nodes = sysfs_nodes::online(root)?;
        if let (Some(only), true) = (nodes.first(), nodes.len() <= 1) {
            return Ok(Self::of_one_node(only));
        }
        let zones = proc_zoneinfo::read(root)?;
        let Some(block_bytes) = memory_blocks::block_bytes(root)? else {
            return Ok(Self::from_zones(&zones));
        };
        let mut owners: BTreeMap<u64, NodeSet> = BTreeMap::new();
        for node in &nodes {
            for block in memory_blocks::of_node(root, node)? {
                owners.entry(block).or_default().insert(node);
            }
        }
        Ok(Self::from_blocks(&owners, block_bytes / page_bytes, &zones))
    }

    fn of_one_node(node: NodeId) -> Self {
        let all = FrameRange {
            start: 0,
            end: u64::MAX,
            node,
        };
        Self { ranges: vec![all] }
    }

    /// Gives a block of one node to that node. Divides a block of several nodes by their zones; the
    /// node of frames that zones of several nodes span is unknown.
    fn from_blocks(owners: &BTreeMap<u64, NodeSet>, frames_per_block: u64, zones: &[Zone]) -> Self {
        let mut frames = Self::default();
        for (block, nodes) in owners {
            let start = block.saturating_mul(frames_per_block);
            let end = start.saturating_add(frames_per_block);
            match (nodes.len(), nodes.first()) {
                (1, Some(node)) => frames.push(FrameRange { start, end, node }),
                _ => {
                    let of_block = |zone: &&Zone| nodes.contains(zone.node);
                    let zones: Vec<Zone> = zones.iter().filter(of_block).copied().collect();
                    for range in unshared(&zones) {
                        let (start, end) = (range.start.max(start), range.end.min(end));
                        frames.push(FrameRange {
                            start,
                            end,
                            node: range.node,
                        });
                    }
                }
            }
        }
        frames
    }

    fn from_zones(zones: &[Zone]) -> Self {
        let mut frames = Self::default();
        for range in unshared(zones) {
            frames.push(range);
        }
        frames
    }

    fn push(&mut self, range: FrameRange) {
        if range.start >= range.end {
            return;
        }
        match self.ranges.last_mut() {
            Some(last) if last.end == range.start && last.node == range.node => {
                last.end = range.end;
            }
            _ => self.ranges.push(range),
        }
    }

    /// The node of a frame; `None` when the kernel does not tell.
    pub fn node_of(&self, frame: u64) -> Option<NodeId> {
        self.range_of(frame).map(|range| range.node)
    }

    /// A lookup that remembers the last range: neighbouring frames are mostly on one node.
    pub fn lookup(&self) -> Lookup<'_> {
        let last = FrameRange {
            start: 1,
            end: 0,
            node: NodeId(0),
        };
        Lookup { frames: self, last }
    }

    fn range_of(&self, frame: u64) -> Option<FrameRange> {
        let after = self.ranges.partition_point(|range| range.start <= frame);
        let range = self.ranges[..after].last()?;
        (frame < range.end).then_some(*range)
    }
}

/// See [`Frames::lookup`].
#[derive(Debug)]
pub struct Lookup<'a> {
    frames: &'a Frames,
    last: FrameRange,
}

impl Lookup<'_> {
    /// The node of a frame.
    pub fn node_of(&mut self, frame: u64) -> Option<NodeId> {
        if frame < self.last.start || frame >= self.last.end {
            self.last = self.frames.range_of(frame)?;
        }
        Some(self.last.node)
    }
}

/// The parts of the zones that no zone of another node also spans; ascending.
fn unshared(zones: &[Zone]) -> Vec<FrameRange> {
    let end_of = |zone: &Zone| zone.start.saturating_add(zone.frames);
    let mut borders: Vec<u64> = zones
        .iter()
        .flat_map(|zone| [zone.start, end_of(zone)])
        .collect();
    borders.sort_unstable();
    borders.dedup();
    let mut ranges = Vec::new();
    for pair in borders.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let spanning = zones
            .iter()
            .filter(|zone| zone.start <= start && end <= end_of(zone));
        let nodes: NodeSet = spanning.map(|zone| zone.node).collect();
        if let (1, Some(node)) = (nodes.len(), nodes.first()) {
            ranges.push(FrameRange { start, end, node });
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn zone(node: u32, start: u64, frames: u64) -> Zone {
        Zone {
            node: NodeId(node),
            start,
            frames,
            ..Zone::default()
        }
    }

    #[test]
    fn blocks_say_the_node_and_zones_divide_a_block_on_a_border() {
        let nodes = |list: &str| list.parse::<NodeSet>().unwrap();
        // Nodes of 160 MiB in blocks of 128 MiB, as in the thirty-two-node guest.
        let owners = BTreeMap::from([(0, nodes("0")), (1, nodes("0-1")), (2, nodes("1"))]);
        let zones = [zone(0, 1, 40959), zone(1, 40960, 40960)];
        let frames = Frames::from_blocks(&owners, 32768, &zones);
        let check = |frame, node: Option<u32>| {
            assert_eq!(frames.node_of(frame), node.map(NodeId), "{frame}");
            assert_eq!(frames.lookup().node_of(frame), node.map(NodeId), "{frame}");
        };
        check(0, Some(0));
        check(40959, Some(0));
        check(40960, Some(1));
        check(65536, Some(1));
        check(98304, None);
        assert_eq!(frames.ranges.len(), 2);
    }

    #[test]
    fn frames_that_two_nodes_span_belong_to_no_one_known() {
        let frames = Frames::from_zones(&[zone(0, 0, 100), zone(1, 50, 100)]);
        assert_eq!(frames.node_of(49), Some(NodeId(0)));
        assert_eq!(frames.node_of(50), None);
        assert_eq!(frames.node_of(100), Some(NodeId(1)));
        assert_eq!(frames.node_of(150), None);
    }

    proptest! {
        #[test]
        fn lookup_and_search_agree(
            zones in prop::collection::vec((0..4_u32, 0..50_u64, 0..20_u64), 0..6),
            frames in prop::collection::vec(0..80_u64, 1..50),
        ) {
            let zones: Vec<_> = zones.into_iter().map(|(n, s, f)| zone(n, s, f)).collect();
            let map = Frames::from_zones(&zones);
            let mut lookup = map.lookup();
            for frame in frames {
                let owners: NodeSet = zones.iter()
                    .filter(|z| z.start <= frame && frame < z.start + z.frames)
                    .map(|z| z.node)
                    .collect();
                let expected = owners.first().filter(|_| owners.len() == 1);
                prop_assert_eq!(lookup.node_of(frame), expected);
                prop_assert_eq!(map.node_of(frame), expected);
            }
        }
    }
}
