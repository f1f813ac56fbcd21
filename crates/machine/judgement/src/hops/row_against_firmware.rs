//! Compares the classes of each row with the classes of the firmware's distances: nodes that only
//! one of them distinguishes, and nodes in the wrong order. What several rows show about the same
//! distances is one result.

use std::collections::{BTreeMap, BTreeSet};

use model::{DistanceTable, NodeId, NodeMatrix};

use super::classes::{Measured, classes_of_row};
use super::pairs::{Pairs, Range};

/// A measured node of a row, with its class and the firmware's distance.
struct Placed {
    measured: Measured,
    class: usize,
    distance: u32,
}

/// Nodes that rows place differently from the firmware, and those they are compared with.
#[derive(Default)]
pub(crate) struct Misplaced {
    pub(crate) pairs: Pairs,
    pub(crate) wrong: Range,
    pub(crate) others: Range,
    /// How much further the wrong ones are, as a share.
    pub(crate) more: Range,
}

/// Nodes that are a hop further than others at the same distance.
pub(crate) struct HiddenHop {
    pub(crate) distance: u32,
    /// Hops beyond the nearest nodes at that distance, from 0.
    pub(crate) hop: usize,
    /// Whether all remote nodes have this distance.
    pub(crate) is_only_distance: bool,
    pub(crate) nodes: Misplaced,
}

/// Nodes that the firmware puts at the wrong place in the order.
pub(crate) struct WrongOrder {
    /// Their distances.
    wrong: BTreeSet<u32>,
    /// The distances of those they are compared with.
    others: BTreeSet<u32>,
    nodes: Misplaced,
}

/// By distance, and by hops beyond the nearest nodes at that distance.
type HiddenHops = BTreeMap<(u32, usize), Misplaced>;
/// By the distances of the misplaced nodes, and of those they are compared with.
type ByDistances = BTreeMap<(BTreeSet<u32>, BTreeSet<u32>), Misplaced>;

/// Nodes at one distance in several classes.
pub(crate) fn hidden_hops(matrix: &NodeMatrix, distances: &DistanceTable) -> Vec<HiddenHop> {
    let mut hidden = HiddenHops::new();
    for (cpu_node, row) in rows(matrix, distances) {
        add_hidden_hops(cpu_node, &row, &mut hidden);
    }
    let only = only_remote_distance(distances);
    let hidden = hidden.into_iter();
    let hidden = hidden.map(|((distance, hop), nodes)| HiddenHop {
        distance,
        hop,
        is_only_distance: only == Some(distance),
        nodes,
    });
    hidden.collect()
}

/// Nodes that the firmware puts nearer than others that actually measure nearer. The finding
/// `local-not-nearest` judges whether a node's own memory is the nearest.
pub(crate) fn understated(matrix: &NodeMatrix, distances: &DistanceTable) -> Vec<WrongOrder> {
    in_wrong_order(matrix, distances, add_understated)
}

/// Nodes that the firmware puts further away than others that measure like them.
pub(crate) fn overstated(matrix: &NodeMatrix, distances: &DistanceTable) -> Vec<WrongOrder> {
    in_wrong_order(matrix, distances, add_overstated)
}

fn in_wrong_order(
    matrix: &NodeMatrix,
    distances: &DistanceTable,
    add: fn(NodeId, &[Placed], &mut ByDistances),
) -> Vec<WrongOrder> {
    let mut all = ByDistances::new();
    for (cpu_node, row) in rows(matrix, distances) {
        add(cpu_node, &row, &mut all);
    }
    let all = all.into_iter();
    let all = all.map(|((wrong, others), nodes)| WrongOrder {
        wrong,
        others,
        nodes,
    });
    all.collect()
}

/// The measured nodes of each row whose distance is known.
fn rows(matrix: &NodeMatrix, distances: &DistanceTable) -> Vec<(NodeId, Vec<Placed>)> {
    let of_row = |(cpu_node, cells)| {
        let mut row = Vec::new();
        for (class, members) in classes_of_row(matrix, cells).into_iter().enumerate() {
            for measured in members {
                if let Some(distance) = distances.distance(cpu_node, measured.node) {
                    row.push(Placed {
                        measured,
                        class,
                        distance,
                    });
                }
            }
        }
        (cpu_node, row)
    };
    matrix.rows().map(of_row).collect()
}

/// Nodes at one distance in several classes: all but the nearest class are a hop further.
fn add_hidden_hops(cpu_node: NodeId, row: &[Placed], hidden: &mut HiddenHops) {
    let mut by_distance: BTreeMap<u32, BTreeMap<usize, Vec<&Placed>>> = BTreeMap::new();
    for placed in row {
        let classes = by_distance.entry(placed.distance).or_default();
        classes.entry(placed.class).or_default().push(placed);
    }
    for (distance, classes) in by_distance {
        let mut classes = classes.into_values();
        let Some(nearest) = classes.next() else {
            continue;
        };
        let mut ns = Range::default();
        ns.extend(nearest.iter().map(|placed| placed.measured.ns));
        for (hop, further) in classes.enumerate() {
            let all = hidden.entry((distance, hop)).or_default();
            all.add(cpu_node, further, ns);
        }
    }
}

/// What nodes measured, by their distances.
type Figures = BTreeMap<u32, Range>;

fn add_understated(cpu_node: NodeId, row: &[Placed], all: &mut ByDistances) {
    // Of the classes before, which are nearer.
    let mut before = Figures::new();
    for class in classes(row) {
        let farthest = before.keys().next_back().copied();
        let is_wrong = |near: &&Placed| {
            near.measured.node != cpu_node && farthest.is_some_and(|far| near.distance < far)
        };
        let wrong: Vec<&Placed> = class.iter().filter(is_wrong).collect();
        if let Some(least) = wrong.iter().map(|near| near.distance).min() {
            let nearer = before.range(least + 1..);
            let nearer = nearer.map(|(distance, ns)| (*distance, *ns)).collect();
            add(cpu_node, &wrong, &nearer, all);
        }
        add_figures(&mut before, class);
    }
}

fn add_overstated(cpu_node: NodeId, row: &[Placed], all: &mut ByDistances) {
    for class in classes(row) {
        let nearest = class.iter().map(|placed| placed.distance).min();
        let (alike, wrong): (Vec<&Placed>, Vec<&Placed>) = class
            .iter()
            .partition(|placed| Some(placed.distance) == nearest);
        let mut figures = Figures::new();
        add_figures(&mut figures, alike);
        add(cpu_node, &wrong, &figures, all);
    }
}

fn add_figures<'p>(figures: &mut Figures, of: impl IntoIterator<Item = &'p Placed>) {
    for placed in of {
        let range = figures.entry(placed.distance).or_default();
        range.add(placed.measured.ns);
    }
}

fn add(cpu_node: NodeId, wrong: &[&Placed], others: &Figures, all: &mut ByDistances) {
    if wrong.is_empty() {
        return;
    }
    let distances = wrong.iter().map(|placed| placed.distance).collect();
    let mut ns = Range::default();
    for range in others.values() {
        ns.extend([range.low, range.high]);
    }
    let key = (distances, others.keys().copied().collect());
    let misplaced = all.entry(key).or_default();
    misplaced.add(cpu_node, wrong.iter().copied(), ns);
}

impl Misplaced {
    /// Adds nodes, and what those that they are compared with measured.
    fn add<'p>(
        &mut self,
        cpu_node: NodeId,
        wrong: impl IntoIterator<Item = &'p Placed>,
        others: Range,
    ) {
        let mut ns = Range::default();
        for placed in wrong {
            self.pairs.insert(cpu_node, placed.measured.node);
            ns.add(placed.measured.ns);
        }
        self.wrong.extend([ns.low, ns.high]);
        self.others.extend([others.low, others.high]);
        // The least and the most of all pairs.
        self.more.add(ns.low / others.high - 1.0);
        self.more.add(ns.high / others.low - 1.0);
    }
}

impl WrongOrder {
    /// `distance 12 measures further than distance 32: 260 ns from node 0 to node 1, against 140
    /// ns`.
    pub(crate) fn sentence(&self, than: &str) -> String {
        format!(
            "distance {} {than} distance {}: {} {}, against {}",
            figures(&self.wrong),
            figures(&self.others),
            self.nodes.wrong.ns(),
            self.nodes.pairs.directed(),
            self.nodes.others.ns(),
        )
    }
}

/// The classes of a row, the nearest first.
fn classes(row: &[Placed]) -> impl Iterator<Item = &[Placed]> {
    row.chunk_by(|one, other| one.class == other.class)
}

/// The distance of all pairs of different nodes, if they all have the same.
pub(crate) fn only_remote_distance(distances: &DistanceTable) -> Option<u32> {
    let cells = distances.cells();
    let mut remote = cells.filter_map(|(from, to, distance)| (from != to).then_some(distance));
    let first = remote.next()?;
    remote.all(|distance| distance == first).then_some(first)
}

/// `21`, `12 to 13`.
fn figures(distances: &BTreeSet<u32>) -> String {
    match (distances.first(), distances.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(only), _) => only.to_string(),
        (None, _) => String::new(),
    }
}
