//! Which nodes memory was taken from between two moments of a text.

use model::{ByteSize, BytesByNode, MemoryMoment, NodeSet, Severity, ShellLine, node_words};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "memory-taken",
    severity: Severity::Warning,
    about: "between two moments of a text, memory was taken from the nodes: nearly all of it from \
            one (Cyclops), or evenly (as interleaved)",
    cost: "an SGA on a far node gave 2.17 instead of 4.62 million logical reads per second",
    cost_source: "Drouvot, 7 January 2015",
    checks: &[Check::Doctor(sight::moments, check)],
};

/// Less than this between two moments is what any machine does.
const WORTH_BYTES: u64 = 256 << 20;
/// Nor is less than such a part of what was free.
const WORTH_PART: u64 = 50;
/// With this share or more from one of several nodes, it is a Cyclops.
const CYCLOPS_SHARE: f64 = 0.9;
/// Taken evenly is within this part of an even share.
const EVEN_PART: f64 = 0.25;

/// What was taken between two moments.
struct Taken<'a> {
    before: &'a MemoryMoment,
    after: &'a MemoryMoment,
    /// Bytes less free, of nodes that had more before.
    taken: BytesByNode,
    /// Bytes more free, of the others.
    given_back: BytesByNode,
}

impl<'a> Taken<'a> {
    fn between(before: &'a MemoryMoment, after: &'a MemoryMoment) -> Self {
        let mut this = Taken {
            before,
            after,
            taken: BytesByNode::new(),
            given_back: BytesByNode::new(),
        };
        for (node, was) in &before.free_bytes {
            match after.free_bytes.get(node) {
                Some(is) if is < was => this.taken.insert(*node, was - is),
                Some(is) if is > was => this.given_back.insert(*node, is - was),
                _ => None,
            };
        }
        this
    }

    fn bytes(&self) -> u64 {
        self.taken
            .values()
            .fold(0, |sum, it| sum.saturating_add(*it))
    }

    fn is_worth(&self) -> bool {
        let free = self.before.free_bytes.values();
        let free = free.fold(0_u64, |sum, it| sum.saturating_add(*it));
        self.bytes() >= WORTH_BYTES.max(free / WORTH_PART)
    }

    fn nodes(&self) -> usize {
        self.before.free_bytes.len()
    }

    /// Share of what was taken that the node with most of it has.
    fn most(&self) -> Option<(model::NodeId, f64)> {
        let (node, bytes) = self.taken.iter().max_by_key(|(_, bytes)| **bytes)?;
        Some((*node, *bytes as f64 / self.bytes() as f64))
    }

    fn is_cyclops(&self) -> bool {
        self.nodes() > 1 && self.most().is_some_and(|(_, share)| share >= CYCLOPS_SHARE)
    }

    fn is_even(&self) -> bool {
        let even = self.bytes() as f64 / self.nodes() as f64;
        let is_near = |bytes: &u64| (*bytes as f64 / even - 1.0).abs() <= EVEN_PART;
        self.nodes() > 1 && self.taken.len() == self.nodes() && self.taken.values().all(is_near)
    }

    fn sentence(&self) -> String {
        let all = ByteSize(self.bytes());
        let how = match self.most() {
            Some((node, share)) if self.is_cyclops() => {
                format!(
                    "{:.0} % from node {node}: a Cyclops",
                    (share * 100.0).floor()
                )
            }
            _ if self.is_even() => {
                let nodes: NodeSet = self.taken.keys().copied().collect();
                format!(
                    "evenly from {}, as interleaved memory is",
                    node_words(&nodes)
                )
            }
            _ => {
                let parts = self.taken.iter();
                let parts =
                    parts.map(|(node, bytes)| format!("{} from node {node}", ByteSize(*bytes)));
                parts.collect::<Vec<_>>().join(", ")
            }
        };
        format!(
            "{all} were taken between {} and {}, {how}",
            self.before.place, self.after.place
        )
    }
}

fn check(input: &DoctorInput) -> Option<Found> {
    let pairs = input.moments.windows(2);
    let pairs = pairs.map(|pair| Taken::between(&pair[0], &pair[1]));
    let pairs: Vec<Taken<'_>> = pairs.filter(Taken::is_worth).collect();
    let main = pairs
        .iter()
        .max_by_key(|it| (it.is_cyclops(), it.bytes()))?;
    let evidence = pairs.iter().flat_map(|pair| {
        let of_node = |(node, bytes): (&model::NodeId, &u64), less: bool| {
            let sign = if less { "less" } else { "more" };
            format!("node {node}: {} {sign} free", ByteSize(*bytes))
        };
        let taken = pair.taken.iter().map(move |it| of_node(it, true));
        let given = pair.given_back.iter().map(move |it| of_node(it, false));
        let parts: Vec<String> = taken.chain(given).collect();
        [fact(pair.after.place.clone(), parts.join(", "))]
    });
    let found = Found {
        evidence: evidence.collect(),
        fix: vec![ShellLine::of(
            "# whose memory it is: numalab inspect TARGET, or its numa_maps",
        )],
        ..Found::that(main.sentence())
    };
    Some(match main.is_cyclops() {
        true => found,
        false => found.for_information(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NodeId;

    fn input(moments: &[&[u64]]) -> DoctorInput {
        let moment = |(index, free): (usize, &&[u64])| MemoryMoment {
            place: format!("a.txt:{index}"),
            free_bytes: (0..)
                .map(NodeId)
                .zip(free.iter().map(|mib| mib << 20))
                .collect(),
        };
        DoctorInput {
            moments: moments.iter().enumerate().map(moment).collect(),
            ..DoctorInput::default()
        }
    }

    #[test]
    fn memory_that_was_taken_from_one_node_is_a_cyclops() {
        // Closson, 2007: an SGA of 2,276,634,624 bytes.
        let found = check(&input(&[&[3587, 3956], &[1331, 3951]])).unwrap();
        let expected = "2.21 GiB were taken between a.txt:0 and a.txt:1, 99 % from node 0: a \
                        Cyclops";
        assert_eq!(found.message, expected);
        assert_eq!(found.severity, None);
    }

    #[test]
    fn memory_that_was_taken_evenly_is_said_to_be() {
        let before: &[u64] = &[29452, 29803, 29796, 29771];
        let after: &[u64] = &[26394, 26272, 26619, 26347];
        let found = check(&input(&[before, after])).unwrap();
        let expected = "12.88 GiB were taken between a.txt:0 and a.txt:1, evenly from nodes 0-3, \
                        as interleaved memory is";
        assert_eq!(found.message, expected);
        assert_eq!(found.severity, Some(Severity::Info));
    }

    #[test]
    fn what_any_machine_does_is_no_finding() {
        assert!(check(&input(&[&[3585, 3955], &[3587, 3956]])).is_none());
        assert!(check(&input(&[&[3585, 3955]])).is_none());
        // A machine without nodes has no Cyclops.
        let found = check(&input(&[&[4000], &[1000]])).unwrap();
        assert_eq!(found.severity, Some(Severity::Info));
    }
}
