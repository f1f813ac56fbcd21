//! Where memory should go, as a user writes it, and the pattern of nodes that this stands for.

use std::fmt;
use std::str::FromStr;

use model::{NodeId, NodeSet, Topology, node_words};

use crate::dose::Dose;

/// Where memory should go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Page by page over these nodes; `None`: over all nodes with memory.
    Interleave(Option<NodeSet>),
    /// By the kernel's weights over these nodes; `None`: over all nodes with memory.
    WeightedInterleave(Option<NodeSet>),
    /// All of it on one node.
    Node(NodeId),
    /// In these proportions; `None`: in proportion to the memory of the nodes.
    Spread(Option<Vec<(NodeId, u64)>>),
    /// Interleaved over the nodes of the CPUs on which the processes may run.
    NearCpus,
}

/// The syntax of a destination, for messages.
const EXPECTED: &str = "expected interleave, interleave=0-3, weighted-interleave, \
                        weighted-interleave=0-3, a node such as 2, spread, spread=0:2,1:1, or \
                        near-cpus";

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, value) = match text.split_once('=') {
            Some((word, value)) => (word, Some(value)),
            None => (text, None),
        };
        match (word, value) {
            ("interleave", None) => Ok(Self::Interleave(None)),
            ("interleave", Some(list)) => Ok(Self::Interleave(Some(named(list)?))),
            ("weighted-interleave", None) => Ok(Self::WeightedInterleave(None)),
            ("weighted-interleave", Some(list)) => Ok(Self::WeightedInterleave(Some(named(list)?))),
            ("spread", None) => Ok(Self::Spread(None)),
            ("spread", Some(list)) => weights(list).map(|it| Self::Spread(Some(it))),
            ("near-cpus", None) => Ok(Self::NearCpus),
            _ => {
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                let node = text.parse().ok().filter(|_| digits);
                node.map(|node| Self::Node(NodeId(node)))
                    .ok_or_else(|| EXPECTED.to_owned())
            }
        }
    }
}

/// `0-3`.
fn named(list: &str) -> Result<NodeSet, String> {
    match list.parse::<NodeSet>() {
        Ok(nodes) if !nodes.is_empty() => Ok(nodes),
        Ok(_) => Err(format!("no node is named; {EXPECTED}")),
        Err(error) => Err(error.to_string()),
    }
}

/// `0:2,1:1`.
fn weights(list: &str) -> Result<Vec<(NodeId, u64)>, String> {
    let mut weights: Vec<(NodeId, u64)> = Vec::new();
    for part in list.split(',') {
        let pair = part.split_once(':').and_then(|(node, weight)| {
            let weight: u64 = weight.parse().ok()?;
            let pair = (NodeId(node.parse().ok()?), weight);
            (1..=1 << 20).contains(&weight).then_some(pair)
        });
        let pair = pair.ok_or_else(|| {
            format!("expected weights from 1 to 1048576 such as 0:2,1:1, found {part:?}")
        })?;
        if weights.iter().any(|(node, _)| *node == pair.0) {
            return Err(format!("node {} has two weights", pair.0));
        }
        weights.push(pair);
    }
    Ok(weights)
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interleave(None) => write!(f, "interleave"),
            Self::Interleave(Some(nodes)) => write!(f, "interleave={nodes}"),
            Self::WeightedInterleave(None) => write!(f, "weighted-interleave"),
            Self::WeightedInterleave(Some(nodes)) => write!(f, "weighted-interleave={nodes}"),
            Self::Node(node) => write!(f, "{node}"),
            Self::Spread(None) => write!(f, "spread"),
            Self::Spread(Some(weights)) => {
                let parts = weights
                    .iter()
                    .map(|(node, weight)| format!("{node}:{weight}"));
                write!(f, "spread={}", parts.collect::<Vec<_>>().join(","))
            }
            Self::NearCpus => write!(f, "near-cpus"),
        }
    }
}

impl Destination {
    /// What this kernel lacks for it, in words; `None` where it lacks nothing.
    pub fn lacking(&self, topology: &Topology) -> Option<&'static str> {
        let is_weighted = matches!(self, Self::WeightedInterleave(_));
        let lacks = is_weighted && topology.settings.interleave_weights.is_none();
        lacks.then_some("this kernel has no weighted interleaving, which needs Linux 6.9 or newer")
    }

    /// The pattern for memory of processes whose CPUs are on `nodes_of_cpus`.
    ///
    /// # Errors
    /// When it names a node that does not exist or has no memory, no node remains, or the kernel
    /// has no weights.
    pub fn pattern(&self, topology: &Topology, nodes_of_cpus: &NodeSet) -> Result<Pattern, String> {
        let with_memory = topology.memory_nodes();
        let even = |nodes: &NodeSet| nodes.iter().map(|node| (node, 1)).collect::<Vec<_>>();
        let weights = match self {
            Self::Interleave(None) => even(&with_memory),
            Self::Interleave(Some(nodes)) => even(nodes),
            Self::WeightedInterleave(nodes) => {
                let of_kernel = topology.settings.interleave_weights.as_ref();
                let of_kernel = of_kernel.ok_or_else(|| self.lacking(topology).unwrap_or(""))?;
                let nodes = nodes.as_ref().unwrap_or(&with_memory).iter();
                // A node without a weight has 1 (mm/mempolicy.c, `get_il_weight`).
                let weight = |node| of_kernel.get(&node).copied().unwrap_or(1).max(1);
                nodes.map(|node| (node, weight(node))).collect()
            }
            Self::Node(node) => vec![(*node, 1)],
            Self::Spread(Some(weights)) => weights.clone(),
            Self::Spread(None) => {
                let memory = |node: &model::Node| Some((node.id, node.memory_bytes? >> 20));
                let weights = topology.nodes.iter().filter_map(memory);
                weights.filter(|(_, mib)| *mib > 0).collect()
            }
            Self::NearCpus => {
                let near = nodes_of_cpus.iter().filter(|it| with_memory.contains(*it));
                near.map(|node| (node, 1)).collect()
            }
        };
        let all = topology.node_ids();
        for (node, _) in &weights {
            if !all.contains(*node) {
                return Err(format!(
                    "there is no node {node}: this machine has {}",
                    node_words(all)
                ));
            }
            if !with_memory.contains(*node) {
                return Err(format!(
                    "no memory on node {node}; memory is on {}",
                    node_words(&with_memory)
                ));
            }
        }
        if weights.is_empty() {
            return Err(format!(
                "no memory on {}, where these CPUs are",
                node_words(nodes_of_cpus)
            ));
        }
        Ok(match self {
            Self::WeightedInterleave(_) => Pattern::of_kernel(&weights),
            _ => Pattern::weighted(&weights),
        })
    }
}

/// The longest pattern: proportions are kept to 1 in 64.
const PATTERN_MAX: u64 = 64;

/// A repeating sequence of nodes: page `n` belongs on its `n`-th node, modulo its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    sequence: Vec<NodeId>,
    /// Whether it is that of the kernel's weighted interleaving.
    follows_weights: bool,
    /// The pages that belong there at all; `None`: all of them.
    dose: Option<Dose>,
}

impl Pattern {
    /// All pages on one node.
    pub fn of_one(node: NodeId) -> Self {
        Self::of(vec![node])
    }

    fn of(sequence: Vec<NodeId>) -> Self {
        Self {
            sequence,
            follows_weights: false,
            dose: None,
        }
    }

    /// The pattern in which the kernel interleaves by weights: as many consecutive pages on each
    /// node as its weight says, in the order of the nodes (mm/mempolicy.c,
    /// `weighted_interleave_nid`). So memory that it interleaved stays where it is.
    fn of_kernel(weights: &[(NodeId, u64)]) -> Self {
        // The kernel takes 1 to 255.
        let pages = |(node, weight): &(NodeId, u64)| {
            std::iter::repeat_n(*node, (*weight).clamp(1, 255) as usize)
        };
        Self {
            sequence: weights.iter().flat_map(pages).collect(),
            follows_weights: true,
            dose: None,
        }
    }

    /// The same pattern for some of the pages; the others stay wherever they are.
    pub fn dosed(&self, dose: Dose) -> Self {
        Self {
            dose: Some(dose),
            ..self.clone()
        }
    }

    /// Whether it is for some of the pages only, so that it is no policy.
    pub fn is_dosed(&self) -> bool {
        self.dose.is_some()
    }

    /// The number of kinds of pages that [`Pattern::kind_of`] tells apart.
    pub fn kinds(&self) -> usize {
        match self.dose {
            None => self.sequence.len(),
            // With those that stay.
            Some(_) => self.sequence.len() + 1,
        }
    }

    /// The kind of page `page`: all pages of a kind belong on one node, or stay.
    pub fn kind_of(&self, page: u64) -> usize {
        let length = self.sequence.len();
        match &self.dose {
            Some(dose) if !dose.has(page) => length,
            _ => (page % length as u64) as usize,
        }
    }

    /// Where a page of this kind belongs that is on node `now`.
    pub fn node_of_kind(&self, kind: usize, now: NodeId) -> NodeId {
        self.sequence.get(kind).copied().unwrap_or(now)
    }

    /// Whether it is that of the kernel's weighted interleaving, which later pages can follow, too.
    pub fn follows_weights(&self) -> bool {
        self.follows_weights
    }

    /// The pattern in which every node occurs as often as its weight says, evenly spaced (smooth
    /// weighted round robin). Weights that exceed [`PATTERN_MAX`] in total are scaled down, to at
    /// least 1.
    fn weighted(weights: &[(NodeId, u64)]) -> Self {
        let divisor = weights
            .iter()
            .fold(0, |so_far, (_, weight)| gcd(so_far, *weight))
            .max(1);
        let sum: u64 = weights.iter().map(|(_, weight)| weight / divisor).sum();
        let longest = PATTERN_MAX.max(weights.len() as u64);
        let scaled = |weight: u64| match sum <= longest {
            true => weight / divisor,
            false => ((weight / divisor * longest + sum / 2) / sum).max(1),
        };
        let weights: Vec<(NodeId, i64)> = weights
            .iter()
            .map(|(node, weight)| (*node, scaled(*weight) as i64))
            .collect();
        let all: i64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut credit = vec![0_i64; weights.len()];
        let mut pattern = Vec::new();
        for _ in 0..all {
            for (credit, (_, weight)) in credit.iter_mut().zip(&weights) {
                *credit += weight;
            }
            let most = credit.iter().copied().max().unwrap_or(0);
            let next = credit.iter().position(|it| *it == most).unwrap_or(0);
            credit[next] -= all;
            pattern.push(weights[next].0);
        }
        Self::of(pattern)
    }

    /// The number of pages after which it repeats.
    #[expect(clippy::len_without_is_empty, reason = "a pattern has a node at least")]
    pub fn len(&self) -> usize {
        self.sequence.len()
    }

    /// The node of page `page`.
    pub fn node_of(&self, page: u64) -> NodeId {
        self.sequence[(page % self.sequence.len() as u64) as usize]
    }

    /// The same pattern, starting `by` nodes later.
    pub fn rotated(&self, by: usize) -> Self {
        let mut turned = self.clone();
        turned.sequence.rotate_left(by % self.sequence.len());
        turned
    }

    /// The nodes in it.
    pub fn nodes(&self) -> NodeSet {
        self.sequence.iter().copied().collect()
    }

    /// The most of `pages` consecutive pages that can fall on `node`, wherever they begin.
    pub fn most_pages_of(&self, node: NodeId, pages: u64) -> u64 {
        let length = self.sequence.len() as u64;
        let in_all = |count: u64| {
            (0..count)
                .filter(|page| self.node_of(*page) == node)
                .count()
        };
        let of_rest = |begin: u64| {
            let rest = begin..begin + pages % length;
            rest.filter(|page| self.node_of(*page) == node).count() as u64
        };
        let most = (0..length).map(of_rest).max().unwrap_or(0);
        pages / length * in_all(length) as u64 + most
    }

    /// The share of pages that belong on `node`, 0 to 1.
    pub fn share_of(&self, node: NodeId) -> f64 {
        let count = self.sequence.iter().filter(|it| **it == node).count();
        count as f64 / self.sequence.len() as f64
    }
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        gcd(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use model::Node;
    use proptest::prelude::*;

    use super::*;

    /// Nodes 0, 2 and 5 with 1, 1 and 2 GiB, and node 7 without memory.
    fn topology() -> Topology {
        let node = |(id, gib): (u32, u64)| Node {
            id: NodeId(id),
            memory_bytes: Some(gib << 30),
            ..Node::default()
        };
        let weights = [(0, 3), (2, 1), (7, 9)].map(|(id, weight)| (NodeId(id), weight));
        Topology {
            nodes: [(0, 1), (2, 1), (5, 2), (7, 0)].map(node).into(),
            settings: model::KernelSettings {
                interleave_weights: Some(weights.into()),
                ..model::KernelSettings::default()
            },
            ..Topology::default()
        }
    }

    fn check(text: &str, expected: Result<&[u32], &str>) {
        let destination: Result<Destination, String> = text.parse();
        let near: NodeSet = "2,7".parse().unwrap();
        let pattern = destination.and_then(|it| {
            assert_eq!(it.to_string(), text);
            it.pattern(&topology(), &near)
        });
        match (pattern, expected) {
            (Ok(pattern), Ok(nodes)) => {
                let found: Vec<u32> = pattern.sequence.iter().map(|node| node.0).collect();
                assert_eq!(pattern.follows_weights(), text.starts_with("weighted"));
                assert_eq!(found, nodes, "{text}");
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn destinations_are_patterns_of_nodes() {
        check("interleave", Ok(&[0, 2, 5]));
        check("interleave=0,5", Ok(&[0, 5]));
        check("2", Ok(&[2]));
        check("spread", Ok(&[5, 0, 2, 5]));
        check("spread=0:2,2:1", Ok(&[0, 2, 0]));
        check("spread=0:4,2:4", Ok(&[0, 2]));
        check("near-cpus", Ok(&[2]));
        check("weighted-interleave", Ok(&[0, 0, 0, 2, 5]));
        check("weighted-interleave=0,2", Ok(&[0, 0, 0, 2]));
    }

    #[test]
    fn a_kernel_without_weights_has_no_weighted_interleaving() {
        let weighted: Destination = "weighted-interleave".parse().unwrap();
        assert_eq!(weighted.lacking(&topology()), None);
        let mut old = topology();
        old.settings.interleave_weights = None;
        let lacking = weighted.lacking(&old).unwrap();
        assert!(lacking.contains("needs Linux 6.9"), "{lacking}");
        let error = weighted.pattern(&old, &NodeSet::default()).unwrap_err();
        assert_eq!(error, lacking);
        assert_eq!(Destination::NearCpus.lacking(&old), None);
    }

    #[test]
    fn what_cannot_be_is_named() {
        check(
            "1",
            Err("there is no node 1: this machine has nodes 0,2,5,7"),
        );
        check("7", Err("no memory on node 7; memory is on nodes 0,2,5"));
        check("interleave=", Err("no node is named"));
        check("weighted-interleave=", Err("no node is named"));
        check("weighted-interleave=7", Err("no memory on node 7"));
        check("spread=0:2,0:1", Err("node 0 has two weights"));
        for text in [
            "",
            "-1",
            "spread=",
            "spread=0:0",
            "spread=0",
            "near",
            "near-cpus=1",
            "+2",
        ] {
            assert!(text.parse::<Destination>().is_err(), "{text}");
        }
    }

    proptest! {

        #[test]
        fn shares_follow_weights(weights in prop::collection::vec(1..1_000_000_u64, 1..40)) {
            let pairs: Vec<_> = (0..).map(NodeId).zip(weights.iter().copied()).collect();
            let pattern = Pattern::weighted(&pairs);
            let all: u64 = weights.iter().sum();
            prop_assert!(pattern.len() <= 128);
            for (node, weight) in pairs {
                let wanted = weight as f64 / all as f64;
                prop_assert!(pattern.share_of(node) > 0.0);
                prop_assert!((pattern.share_of(node) - wanted).abs() < 0.5);
            }
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("\\PC*", &|text| {
            if let Ok(destination) = text.parse::<Destination>() {
                let _ = destination.pattern(&topology(), &NodeSet::default());
            }
        });
    }
}
