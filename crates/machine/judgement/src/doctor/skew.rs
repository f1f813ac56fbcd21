//! Whether shared memory lies too much on one node: a Cyclops, or close to one.

use model::{
    ByteSize, BytesByNode, NodeId, Residency, ResidencyMethod, SegmentResidency, node_words,
};
use residency::shared_memory;

use super::input::DoctorInput;
use super::memory::{WORTH_BYTES, nodes_used, shared, source};
use super::uneven_nodes::{bandwidth_shares, use_shares};
use crate::found::{Found, fact};

/// With this share or more on one node, memory is a Cyclops: "all the memory for the SGA was
/// allocated from node 0" (Closson, "Introducing Cyclops", 2007). The rest is other, small
/// segments.
const CYCLOPS_SHARE: f64 = 0.9;

/// Memory is skewed when one node is this far from an even share towards all of it.
const SKEW_PART: f64 = 1.0 / 3.0;

/// Memory is in proportion to something if it is no more than so much above that.
const IN_PROPORTION: f64 = 1.1;

/// How evenly shared memory lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Skew {
    /// Nothing to report.
    Even,
    /// Far more on one node than on the others.
    Skewed {
        /// The node.
        node: NodeId,
        /// Its share, 0 to 1.
        share: f64,
    },
    /// Nearly all of it on one node.
    Cyclops {
        /// The node.
        node: NodeId,
        /// Its share, 0 to 1.
        share: f64,
    },
}

/// The least that each node has of the shared memory, and the total. Huge pages that could not be
/// seen lie on a node as far as the pools of the other nodes leave no room for them. Other memory
/// that was not found is swapped out or was never written, and does not count.
fn at_least(residency: &Residency) -> (BytesByNode, u64) {
    let mut least = shared_memory(residency);
    let mut all: u64 = least.values().sum();
    let segments = residency.segments.iter();
    let exact = residency.method != ResidencyMethod::NumaMaps;
    for segment in segments.filter(|it| exact && it.kind.is_shared_memory()) {
        let Some(at_most) = &segment.unseen_at_most_by_node else {
            continue;
        };
        let unseen = segment.bytes_without_node;
        all += unseen;
        for node in at_most.keys() {
            let others = at_most.iter().filter(|(other, _)| *other != node);
            let elsewhere: u64 = others.map(|(_, bytes)| *bytes).sum();
            *least.entry(*node).or_default() += unseen.saturating_sub(elsewhere);
        }
    }
    (least, all)
}

/// Judges shared memory. It may lie on one node when all processes run there, or when the machine
/// has no other node. Where none of them may run there, it is far rather than uneven
/// (`memory-far`).
pub(crate) fn judge(residency: &Residency) -> Skew {
    let (shared, all) = at_least(residency);
    let nodes = residency.memory_nodes.len();
    let Some((node, bytes)) = shared.iter().max_by_key(|(_, bytes)| **bytes) else {
        return Skew::Even;
    };
    let mut processes = residency.processes.iter();
    if processes.all(|it| it.cpus.is_empty()) {
        // Who uses it, and from where, is not known.
        return Skew::Even;
    }
    let is_far = is_far_from_all(residency, *node);
    if all < WORTH_BYTES || nodes < 2 || is_far || is_used_only_from(residency, *node) {
        return Skew::Even;
    }
    let (share, even) = (*bytes as f64 / all as f64, 1.0 / nodes as f64);
    if share >= CYCLOPS_SHARE {
        Skew::Cyclops { node: *node, share }
    } else if share > even + (1.0 - even) * SKEW_PART {
        Skew::Skewed { node: *node, share }
    } else {
        Skew::Even
    }
}

/// Whether so much of it belongs on this node: it has that part of the CPUs that use the memory, or
/// of the bandwidth.
pub(crate) fn is_in_proportion(input: &DoctorInput, node: NodeId, share: f64) -> bool {
    let nodes = input.allowed_database_nodes();
    let parts = [Some(use_shares(input)), bandwidth_shares(input, &nodes)];
    let mut parts = parts.into_iter().flatten();
    parts.any(|of| share <= IN_PROPORTION * of.get(&node).copied().unwrap_or(0.0))
}

/// Whether no process may run on this node, although all of their CPUs are known.
fn is_far_from_all(residency: &Residency, node: NodeId) -> bool {
    let mut nodes = residency.processes.iter().map(|it| &it.nodes_of_cpus);
    !residency.processes.is_empty() && nodes.all(|it| !it.is_empty() && !it.contains(node))
}

/// Whether all processes whose CPUs are known run on this node only.
fn is_used_only_from(residency: &Residency, node: NodeId) -> bool {
    let mut known = residency
        .processes
        .iter()
        .filter(|process| !process.cpus.is_empty())
        .peekable();
    known.peek().is_some() && known.all(|process| process.pinned_to_node == Some(node))
}

/// `95 %`, or `at least 95 %` where the pools only bound the place of some of the memory.
fn share_words(residency: &Residency, share: f64) -> String {
    let is_bound = |segment: &SegmentResidency| {
        segment.unseen_at_most_by_node.is_some() && segment.bytes_without_node > 0
    };
    let at_least = match residency.segments.iter().any(is_bound) {
        true => "at least ",
        false => "",
    };
    format!("{at_least}{:.0} %", share * 100.0)
}

/// The finding on memory that lies too much on one node, without its fix.
pub(crate) fn lopsided(residency: &Residency, node: NodeId, share: f64) -> Found {
    let segments = shared(residency).map(|segment| (&*segment.name, &segment.bytes_by_node));
    let mut segments: Vec<(&str, &BytesByNode)> = segments.collect();
    let all = shared_memory(residency);
    if segments.is_empty() {
        segments.push(("all segments", &all));
    }
    let evidence = segments.into_iter().map(|(name, bytes)| {
        let bytes = bytes
            .iter()
            .map(|(n, b)| format!("node {n}: {}", ByteSize(*b)));
        let bytes: Vec<String> = bytes.collect();
        fact(source(residency), format!("{name}: {}", bytes.join(", ")))
    });
    Found {
        evidence: evidence.collect(),
        ..Found::that(format!(
            "{} of the shared memory is on node {node}; processes may run on {}",
            share_words(residency, share),
            node_words(nodes_used(residency))
        ))
    }
}

#[cfg(test)]
mod tests {
    use model::{ProcessResidency, SegmentKind};

    use super::*;

    fn residency(bytes: &[(u32, u64)], memory_nodes: &str, pinned_to: Option<u32>) -> Residency {
        Residency {
            memory_nodes: memory_nodes.parse().unwrap(),
            segments: vec![SegmentResidency {
                kind: SegmentKind::Sysv,
                bytes_by_node: bytes
                    .iter()
                    .map(|(n, mib)| (NodeId(*n), mib << 20))
                    .collect(),
                ..SegmentResidency::default()
            }],
            processes: vec![ProcessResidency {
                cpus: "0".parse().unwrap(),
                pinned_to_node: pinned_to.map(NodeId),
                ..ProcessResidency::default()
            }],
            ..Residency::default()
        }
    }

    fn word(skew: Skew) -> Option<&'static str> {
        match skew {
            Skew::Even => None,
            Skew::Skewed { .. } => Some("skew"),
            Skew::Cyclops { .. } => Some("cyclops"),
        }
    }

    #[test]
    fn a_cyclops_is_told_from_skew_and_from_what_is_even() {
        let check = |bytes: &[(u32, u64)], nodes, pinned, expected: Option<&str>| {
            let found = word(judge(&residency(bytes, nodes, pinned)));
            assert_eq!(found, expected, "{bytes:?} {nodes} {pinned:?}");
        };
        check(&[(0, 1000)], "0-1", None, Some("cyclops"));
        check(&[(0, 950), (1, 50)], "0-1", None, Some("cyclops"));
        check(&[(0, 800), (1, 200)], "0-1", None, Some("skew"));
        check(&[(0, 600), (1, 400)], "0-1", None, None);
        check(&[(0, 500), (1, 100), (2, 100)], "0-7", None, Some("skew"));
        check(&[(0, 1000)], "0", None, None);
        check(&[(0, 1000)], "0-1", Some(0), None);
        check(&[(0, 1000)], "0-1", Some(1), Some("cyclops"));
        check(&[(0, 8)], "0-1", None, None);
        check(&[], "0-1", None, None);
    }

    #[test]
    fn huge_pages_that_could_not_be_seen_lie_where_the_pools_leave_room() {
        let check = |found: &[(u32, u64)], at_most: &[(u32, u64)], expected: Option<&str>| {
            let mut residency = residency(found, "0-1", None);
            residency.method = ResidencyMethod::Pagemap;
            let segment = &mut residency.segments[0];
            segment.bytes_without_node = 900 << 20;
            let bytes = at_most.iter().map(|(node, mib)| (NodeId(*node), mib << 20));
            segment.unseen_at_most_by_node = Some(bytes.collect());
            assert_eq!(word(judge(&residency)), expected, "{at_most:?}");
        };
        check(&[(0, 100)], &[(0, 900), (1, 0)], Some("cyclops"));
        check(&[(0, 100)], &[(0, 900), (1, 40)], Some("cyclops"));
        check(&[(0, 100)], &[(0, 900), (1, 200)], Some("skew"));
        check(&[(0, 100)], &[(0, 900), (1, 900)], None);
        check(&[(1, 100)], &[(0, 900), (1, 0)], Some("cyclops"));
        check(&[], &[(0, 900), (1, 0)], Some("cyclops"));
    }
}
