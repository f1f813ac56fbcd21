//! What exactly a move would do: for every part, where its memory is now and where it would be.

use linux::Root;
use model::BytesByNode;

use super::error::MoveError;
use super::memory::{Part, PartKind};
use super::reader::Reader;
use super::survey::Survey;
use placement::Pattern;

/// The whole plan.
#[derive(Debug, Default)]
pub struct Plan {
    /// The processes.
    pub pids: Vec<u32>,
    /// The parts that have pages in memory.
    pub parts: Vec<PlannedPart>,
    /// What stays where it is, and why.
    pub notes: Vec<String>,
}

/// One part.
#[derive(Debug)]
pub struct PlannedPart {
    /// The memory, with the pattern rotated so that most of its pages stay.
    pub part: Part,
    /// Bytes by node now.
    pub now: BytesByNode,
    /// Bytes by node after the move.
    pub then: BytesByNode,
    /// Bytes to move.
    pub bytes_to_move: u64,
}

impl Plan {
    /// Bytes to move.
    pub fn bytes_to_move(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes_to_move).sum()
    }
}

/// Bytes by kind of page in the pattern and node.
type Tally = Vec<BytesByNode>;

/// Makes the plan; looks at every page of the survey once.
///
/// # Errors
/// When the kernel refuses to say where pages are.
pub fn plan(root: &Root, survey: Survey) -> Result<Plan, MoveError> {
    let mut reader = Reader::new(root);
    let pids = survey.pids();
    let mut notes = survey.notes;
    let mut tallied: Vec<(Part, Tally)> = Vec::new();
    for mut part in survey.parts {
        let mut tally = Tally::new();
        tally.resize(part.pattern.kinds(), BytesByNode::new());
        let mut with_pages = Vec::new();
        for stretch in std::mem::take(&mut part.stretches) {
            let chunk = match reader.read(&part, &stretch) {
                Ok(chunk) => chunk,
                Err(error) if error.is_of_an_ended_process() => {
                    let sentence = format!("process {} ended meanwhile", stretch.pid);
                    if !notes.contains(&sentence) {
                        notes.push(sentence);
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if !chunk.units.is_empty() || reader.huge_pages.has_some(&part, &stretch) {
                with_pages.push(stretch);
            }
            for unit in chunk.units {
                let kind = part.pattern.kind_of(unit.turn);
                let bytes = tally[kind].entry(unit.node).or_default();
                *bytes += unit.pages * part.page_bytes;
            }
        }
        part.stretches = with_pages;
        if tally.iter().any(|bytes| !bytes.is_empty()) {
            tallied.push((part, tally));
        }
    }
    let parts = turned(tallied);
    Ok(Plan { pids, parts, notes })
}

/// Rotates every pattern so that most pages are already where they belong. Equal patterns of
/// private memory are rotated equally: processes share pages of it since a fork.
fn turned(tallied: Vec<(Part, Tally)>) -> Vec<PlannedPart> {
    let mut of_private: Vec<(Pattern, usize)> = Vec::new();
    let mut planned = Vec::new();
    let private: Vec<(Pattern, Tally)> = tallied
        .iter()
        .filter(|(part, _)| matches!(part.kind, PartKind::Private { .. }))
        .map(|(part, tally)| (part.pattern.clone(), tally.clone()))
        .collect();
    for (mut part, tally) in tallied {
        let turn = match part.kind {
            PartKind::Segment(_) => best_turn(&part.pattern, std::slice::from_ref(&tally)),
            PartKind::Private { .. } => {
                let known = of_private
                    .iter()
                    .find(|(pattern, _)| *pattern == part.pattern);
                known.map(|(_, turn)| *turn).unwrap_or_else(|| {
                    let alike = private
                        .iter()
                        .filter(|(pattern, _)| *pattern == part.pattern);
                    let tallies: Vec<Tally> = alike.map(|(_, tally)| tally.clone()).collect();
                    let turn = best_turn(&part.pattern, &tallies);
                    of_private.push((part.pattern.clone(), turn));
                    turn
                })
            }
        };
        part.pattern = part.pattern.rotated(turn);
        planned.push(judged(part, &tally));
    }
    planned
}

/// How far to rotate the pattern so that the most bytes stay.
fn best_turn(pattern: &Pattern, tallies: &[Tally]) -> usize {
    if pattern.is_dosed() {
        return 0;
    }
    let staying = |turn: &usize| -> u64 {
        let at = |(place, by_node): (usize, &BytesByNode)| {
            let node = pattern.node_of((place + turn) as u64);
            by_node.get(&node).copied().unwrap_or(0)
        };
        let of_tally = |tally: &Tally| tally.iter().enumerate().map(at).sum::<u64>();
        tallies.iter().map(of_tally).sum()
    };
    // The first of equals, so that the plan is reproducible.
    (0..pattern.len()).rev().max_by_key(staying).unwrap_or(0)
}

fn judged(part: Part, tally: &Tally) -> PlannedPart {
    let (mut now, mut then, mut bytes_to_move) = (BytesByNode::new(), BytesByNode::new(), 0);
    for (kind, by_node) in tally.iter().enumerate() {
        for (node, bytes) in by_node {
            let wanted = part.pattern.node_of_kind(kind, *node);
            *now.entry(*node).or_default() += bytes;
            *then.entry(wanted).or_default() += bytes;
            if *node != wanted {
                bytes_to_move += bytes;
            }
        }
    }
    PlannedPart {
        part,
        now,
        then,
        bytes_to_move,
    }
}

#[cfg(test)]
mod tests {
    use model::{NodeId, NodeSet, SegmentKind, Topology};
    use proptest::prelude::*;

    use super::*;
    use crate::memory::Source;
    use placement::Destination;

    fn part(nodes: u32) -> Part {
        let node = |id| model::Node {
            id: NodeId(id),
            memory_bytes: Some(1 << 30),
            ..model::Node::default()
        };
        let topology = Topology {
            nodes: (0..nodes).map(node).collect(),
            ..Topology::default()
        };
        let pattern = Destination::Interleave(None).pattern(&topology, &NodeSet::default());
        Part {
            name: "a".to_owned(),
            kind: PartKind::Segment(SegmentKind::Memfd),
            page_bytes: 4096,
            pattern: pattern.unwrap(),
            source: Source::Process,
            views: Vec::new(),
            stretches: Vec::new(),
        }
    }

    /// A tally of `pages` pages, where page `n` lies on node `node_of(n)`.
    fn tally(pages: u64, nodes: u32, node_of: impl Fn(u64) -> u32) -> Tally {
        let mut tally = vec![BytesByNode::new(); nodes as usize];
        for page in 0..pages {
            let by_node = &mut tally[(page % u64::from(nodes)) as usize];
            *by_node.entry(NodeId(node_of(page))).or_default() += 4096;
        }
        tally
    }

    #[test]
    fn memory_that_is_interleaved_already_stays() {
        let planned = turned(vec![(part(4), tally(400, 4, |page| (page + 3) as u32 % 4))]);
        assert_eq!(planned[0].bytes_to_move, 0);
        assert_eq!(planned[0].now, planned[0].then);
    }

    #[test]
    fn memory_of_one_node_is_divided_evenly() {
        let planned = turned(vec![(part(4), tally(400, 4, |_| 0))]);
        assert_eq!(planned[0].bytes_to_move, 300 * 4096);
        assert!(planned[0].then.values().all(|bytes| *bytes == 100 * 4096));
    }

    #[test]
    fn a_dose_takes_its_share_of_what_is_elsewhere_and_leaves_the_rest() {
        let dose = placement::Dose {
            parts_per_million: 200_000,
            seed: 3,
        };
        let mut part = part(1);
        part.pattern = Pattern::of_one(NodeId(1)).dosed(dose);
        let mut tally = vec![BytesByNode::new(); part.pattern.kinds()];
        // Half of the pages are on node 1 already, the others on nodes 0 and 2.
        for page in 0..10_000 {
            let node = NodeId([1, 0, 1, 2][page as usize % 4]);
            *tally[part.pattern.kind_of(page)].entry(node).or_default() += 4096;
        }
        let planned = turned(vec![(part, tally)]).pop().unwrap();
        let pages = |of: &BytesByNode, node| of[&NodeId(node)] / 4096;
        assert!(
            (900..1100).contains(&(planned.bytes_to_move / 4096)),
            "{planned:?}"
        );
        assert_eq!(
            [0, 1, 2].map(|node| pages(&planned.now, node)),
            [2500, 5000, 2500]
        );
        for node in [0, 2] {
            assert!(
                (1900..2100).contains(&pages(&planned.then, node)),
                "{planned:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(pages in 1..500_u64, nodes in 1..9_u32, seed in 0..1000_u64) {
            let node_of = |page: u64| (page.wrapping_mul(seed + 7) >> 3) as u32 % nodes;
            let planned = turned(vec![(part(nodes), tally(pages, nodes, node_of))]);
            let [planned] = &planned[..] else { panic!() };
            let sum = |bytes: &BytesByNode| bytes.values().sum::<u64>();
            prop_assert_eq!(sum(&planned.now), pages * 4096);
            prop_assert_eq!(sum(&planned.then), pages * 4096);
            prop_assert!(planned.bytes_to_move <= pages * 4096);
        }
    }
}
