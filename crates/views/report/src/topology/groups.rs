//! Groups nodes that are near each other by the firmware's distances, from the outside in.
//!
//! Nodes form a group when any two of them are nearer to each other than either is to any node
//! outside. In an asymmetric table, the longer direction counts. An unknown distance means no
//! groups.

use std::collections::BTreeSet;

use model::{NodeSet, Topology};

/// A group of nodes and its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The nodes.
    pub(crate) nodes: NodeSet,
    /// The distances between nodes of different parts, ascending; empty for a single node.
    pub(crate) apart: Vec<u32>,
    /// The nearer groups within, in order of first node; empty for a single node.
    pub(crate) parts: Vec<Group>,
}

impl Group {
    /// Returns whether all parts are single nodes.
    pub(crate) fn is_innermost(&self) -> bool {
        self.parts.iter().all(|part| part.parts.is_empty())
    }

    /// Returns whether the groups represent the table exactly: one distance at each level.
    pub(crate) fn is_exact(&self) -> bool {
        self.apart.len() <= 1 && self.parts.iter().all(Group::is_exact)
    }
}

/// Returns the group of all nodes; `None` without a second node, or where a distance is unknown.
pub(crate) fn groups(topology: &Topology) -> Option<Group> {
    let count = topology.nodes.len();
    let rows = topology.distances.as_ref()?.iter();
    let rows = rows.map(|row| row.iter().copied().collect::<Option<Vec<u32>>>());
    let rows = rows.collect::<Option<Vec<Vec<u32>>>>()?;
    let is_square = rows.len() == count && rows.iter().all(|row| row.len() == count);
    if count < 2 || !is_square {
        return None;
    }
    let mut pairs: Vec<(u32, usize, usize)> = Vec::new();
    for (from, row) in rows.iter().enumerate() {
        pairs.extend((0..from).map(|to| (row[to].max(rows[to][from]), from, to)));
    }
    pairs.sort_unstable();
    let mut forest = Forest::new(topology);
    for class in pairs.chunk_by(|one, other| one.0 == other.0) {
        for &(_, from, to) in class {
            forest.join(from, to);
        }
        forest.close_groups(class);
    }
    forest.into_whole()
}

/// A union-find forest of nodes, joined step by step, the nearest first.
struct Forest {
    /// For each node, its parent in the same component, or itself.
    parents: Vec<usize>,
    /// The components, indexed by root.
    components: Vec<Component>,
}

#[derive(Default)]
struct Component {
    nodes: usize,
    /// Number of pairs of its nodes seen so far.
    pairs: usize,
    /// The closed groups that make up the component.
    groups: Vec<Group>,
    /// Distances seen since the last group was closed.
    apart: BTreeSet<u32>,
}

impl Forest {
    fn new(topology: &Topology) -> Self {
        let single = |id| Group {
            nodes: NodeSet::of(id),
            apart: Vec::new(),
            parts: Vec::new(),
        };
        let component = |id| Component {
            nodes: 1,
            groups: vec![single(id)],
            ..Component::default()
        };
        let components: Vec<_> = topology
            .nodes
            .iter()
            .map(|node| component(node.id))
            .collect();
        Self {
            parents: (0..components.len()).collect(),
            components,
        }
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parents[node] != node {
            self.parents[node] = self.parents[self.parents[node]];
            node = self.parents[node];
        }
        node
    }

    fn join(&mut self, from: usize, to: usize) {
        let (mut large, mut small) = (self.root(from), self.root(to));
        if large != small {
            if self.components[large].nodes < self.components[small].nodes {
                (large, small) = (small, large);
            }
            let joined = std::mem::take(&mut self.components[small]);
            self.parents[small] = large;
            let component = &mut self.components[large];
            component.nodes += joined.nodes;
            component.pairs += joined.pairs;
            component.groups.extend(joined.groups);
            component.apart.extend(joined.apart);
        }
        self.components[large].pairs += 1;
    }

    /// Closes groups after all pairs of one distance: a component with all its pairs seen is a
    /// group.
    fn close_groups(&mut self, class: &[(u32, usize, usize)]) {
        for &(distance, from, _) in class {
            let root = self.root(from);
            self.components[root].apart.insert(distance);
        }
        for &(_, from, _) in class {
            let root = self.root(from);
            let component = &mut self.components[root];
            let pairs_of_all = component.nodes * (component.nodes - 1) / 2;
            if component.groups.len() > 1 && component.pairs == pairs_of_all {
                let mut parts = std::mem::take(&mut component.groups);
                parts.sort_by(|one, other| one.nodes.cmp(&other.nodes));
                let nodes = parts.iter().flat_map(|part| &part.nodes).collect();
                let apart = std::mem::take(&mut component.apart).into_iter().collect();
                component.groups = vec![Group {
                    nodes,
                    apart,
                    parts,
                }];
            }
        }
    }

    fn into_whole(mut self) -> Option<Group> {
        let root = self.root(0);
        self.components[root].groups.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Node, NodeId};
    use proptest::prelude::*;

    fn known(row: Vec<u32>) -> Vec<Option<u32>> {
        row.into_iter().map(Some).collect()
    }

    fn topology(rows: Vec<Vec<u32>>) -> Topology {
        let node = |id| Node {
            id: NodeId(id),
            ..Node::default()
        };
        let nodes = (0..rows.len() as u32).map(node).collect();
        Topology {
            nodes,
            distances: Some(rows.into_iter().map(known).collect()),
            ..Topology::default()
        }
    }

    fn show(group: &Group) -> String {
        if group.parts.is_empty() {
            return group.nodes.to_string();
        }
        let parts: Vec<String> = group.parts.iter().map(show).collect();
        format!("({} @{:?})", parts.join(" "), group.apart)
    }

    fn check(rows: Vec<Vec<u32>>, expected: &str) {
        assert_eq!(show(&groups(&topology(rows)).unwrap()), expected);
    }

    #[test]
    fn nodes_that_are_equally_far_are_one_group() {
        check(vec![vec![10, 21], vec![21, 10]], "(0 1 @[21])");
        let row = |from: usize| (0..4).map(|to| if from == to { 10 } else { 21 }).collect();
        check((0..4).map(row).collect(), "(0 1 2 3 @[21])");
    }

    #[test]
    fn article_000_has_two_groups_of_four() {
        let row = |from: usize| {
            let distance = |to: usize| match () {
                () if from == to => 10,
                () if from / 4 != to / 4 => 22,
                () if from / 2 == to / 2 => 13,
                () => 12,
            };
            (0..8).map(distance).collect()
        };
        check(
            (0..8).map(row).collect(),
            "((0 1 2 3 @[12, 13]) (4 5 6 7 @[12, 13]) @[22])",
        );
    }

    #[test]
    fn a_chain_has_no_groups_within() {
        check(
            vec![vec![10, 16, 22], vec![16, 10, 16], vec![22, 16, 10]],
            "(0 1 2 @[16, 22])",
        );
    }

    #[test]
    fn memory_is_grouped_with_the_socket_it_hangs_on() {
        check(
            vec![vec![10, 21, 14], vec![21, 10, 24], vec![14, 24, 10]],
            "((0 2 @[14]) 1 @[21, 24])",
        );
    }

    #[test]
    fn the_longer_way_counts() {
        check(
            vec![vec![10, 20, 255], vec![30, 10, 40], vec![255, 9, 10]],
            "((0 1 @[30]) 2 @[40, 255])",
        );
    }

    #[test]
    fn one_node_or_a_table_that_is_not_whole_has_no_groups() {
        assert_eq!(groups(&topology(vec![vec![10]])), None);
        assert_eq!(groups(&topology(vec![vec![10, 20], vec![20]])), None);
        assert_eq!(groups(&Topology::default()), None);
        let mut unknown = topology(vec![vec![10, 20], vec![20, 10]]);
        assert!(groups(&unknown).is_some());
        unknown.distances.as_mut().unwrap()[0][1] = None;
        assert_eq!(groups(&unknown), None);
    }

    proptest! {
        #[test]
        fn every_node_is_in_the_tree_once(
            distances in prop::collection::vec(prop::collection::vec(0..30_u32, 9), 9)
        ) {
            fn singles(group: &Group) -> usize {
                group.parts.iter().map(singles).sum::<usize>().max(1)
            }
            let group = groups(&topology(distances)).unwrap();
            prop_assert_eq!(group.nodes.len(), 9);
            prop_assert_eq!(singles(&group), 9);
        }
    }
}
