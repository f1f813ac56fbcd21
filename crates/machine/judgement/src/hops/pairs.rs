//! The pairs of nodes that a finding applies to, in few words.

use std::collections::{BTreeMap, BTreeSet};

use model::{NodeId, NodeSet, counted};

use super::figures;

/// Groups that are written out; the classes of each row are shown beside the findings anyway.
const GROUPS_MAX: usize = 8;

/// Pairs of nodes, by the node they start from.
#[derive(Debug, Default)]
pub(crate) struct Pairs(BTreeMap<NodeId, BTreeSet<NodeId>>);

impl Pairs {
    pub(crate) fn insert(&mut self, from: NodeId, to: NodeId) {
        self.0.entry(from).or_default().insert(to);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let rows = self.0.iter();
        rows.flat_map(|(from, to)| to.iter().map(move |to| (*from, *to)))
    }

    /// `from node 0 to nodes 2-3, from nodes 1,4 to node 0`: nodes that lead to the same nodes are
    /// grouped.
    pub(crate) fn directed(&self) -> String {
        self.text("from", "to")
    }

    /// `between node 0 and nodes 2-3`.
    pub(crate) fn mutual(&self) -> String {
        self.text("between", "and")
    }

    fn text(&self, before: &str, amid: &str) -> String {
        let mut places: BTreeMap<&BTreeSet<NodeId>, usize> = BTreeMap::new();
        let mut groups: Vec<(NodeSet, &BTreeSet<NodeId>)> = Vec::new();
        for (from, to) in &self.0 {
            let place = *places.entry(to).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((all, _)) => {
                    all.insert(*from);
                }
                None => groups.push((NodeSet::of(*from), to)),
            }
        }
        let more: usize = groups
            .iter()
            .skip(GROUPS_MAX)
            .map(|(from, _)| from.len())
            .sum();
        let shown = groups.iter().take(GROUPS_MAX).map(|(from, to)| {
            let to: NodeSet = to.iter().copied().collect();
            let (from, to) = (figures::nodes(from), figures::nodes(&to));
            format!("{before} {from} {amid} {to}")
        });
        let mut text = shown.collect::<Vec<_>>().join(", ");
        if more > 0 {
            text.push_str(&format!(", and {before} {}", counted(more, "more node")));
        }
        text
    }
}

impl FromIterator<(NodeId, NodeId)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (NodeId, NodeId)>>(pairs: I) -> Self {
        let mut all = Pairs::default();
        for (from, to) in pairs {
            all.insert(from, to);
        }
        all
    }
}

/// The smallest and the largest of some figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Default for Range {
    fn default() -> Self {
        Range {
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        }
    }
}

impl Range {
    pub(crate) fn add(&mut self, value: f64) {
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }

    pub(crate) fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// `211 to 217 ns`.
    pub(crate) fn ns(self) -> String {
        figures::ns_range(self.low, self.high)
    }

    /// `14 to 17 %`.
    pub(crate) fn percent(self) -> String {
        figures::percent_range(self.low, self.high)
    }
}

impl Extend<f64> for Range {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.add(value));
    }
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::Pairs;

    fn check(pairs: &[(u32, u32)], expected: &str) {
        let pairs = pairs.iter().map(|(from, to)| (NodeId(*from), NodeId(*to)));
        assert_eq!(pairs.collect::<Pairs>().directed(), expected);
    }

    #[test]
    fn nodes_that_lead_to_the_same_nodes_are_named_together() {
        check(&[], "");
        check(&[(0, 3)], "from node 0 to node 3");
        check(
            &[(0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (3, 0)],
            "from nodes 0-1 to nodes 2-3, from nodes 2-3 to node 0",
        );
        let pairs = [(5, 1)].into_iter().collect::<Vec<_>>();
        check(&pairs, "from node 5 to node 1");
    }

    #[test]
    fn a_long_list_ends_with_how_many_are_left() {
        let ring: Vec<(u32, u32)> = (0..12).map(|node| (node, (node + 1) % 12)).collect();
        let pairs: Pairs = ring
            .iter()
            .map(|(from, to)| (NodeId(*from), NodeId(*to)))
            .collect();
        let text = pairs.mutual();
        assert!(text.starts_with("between node 0 and node 1, "), "{text}");
        assert!(text.ends_with(", and between 4 more nodes"), "{text}");
    }
}
