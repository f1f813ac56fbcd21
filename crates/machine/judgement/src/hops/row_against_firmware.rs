//! Compares the classes of each row with the classes of the firmware's distances: nodes that only
//! one of them distinguishes, and nodes in the wrong order. What several rows show about the same
//! distances is one finding.

use std::collections::{BTreeMap, BTreeSet};

use model::{DistanceTable, Finding, NodeId, NodeMatrix, Severity};

use super::classes::{Measured, classes_of_row};
use super::findings::{HIDDEN_HOP, OVERSTATED, UNDERSTATED, finding};
use super::pairs::{Pairs, Range};

/// A measured node of a row, with its class and the firmware's distance.
struct Placed {
    measured: Measured,
    class: usize,
    distance: u32,
}

/// Nodes that rows place differently from the firmware, and those they are compared with.
#[derive(Default)]
struct Misplaced {
    pairs: Pairs,
    wrong: Range,
    others: Range,
    /// How much further the wrong ones are, as a share.
    more: Range,
}

/// By distance, and by hops beyond the nearest nodes at that distance.
type HiddenHops = BTreeMap<(u32, usize), Misplaced>;
/// By the distances of the misplaced nodes, and of those they are compared with.
type ByDistances = BTreeMap<(BTreeSet<u32>, BTreeSet<u32>), Misplaced>;

/// Adds the findings.
pub(crate) fn judge(matrix: &NodeMatrix, distances: &DistanceTable, found: &mut Vec<Finding>) {
    let mut hidden = HiddenHops::new();
    let (mut understated, mut overstated) = (ByDistances::new(), ByDistances::new());
    for (cpu_node, cells) in matrix.rows() {
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
        add_hidden_hops(cpu_node, &row, &mut hidden);
        add_understated(cpu_node, &row, &mut understated);
        add_overstated(cpu_node, &row, &mut overstated);
    }
    let only = only_remote_distance(distances);
    let hidden = hidden.into_iter();
    found.extend(hidden.map(|((distance, hop), it)| hidden_hop(distance, hop, &it, only)));
    for (id, severity, than, all) in [
        (
            UNDERSTATED,
            Severity::Warning,
            "measures further than",
            understated,
        ),
        (OVERSTATED, Severity::Info, "measures like", overstated),
    ] {
        found.extend(all.iter().map(|((wrong, others), it)| {
            let message = format!(
                "distance {} {than} distance {}: {} {}, against {}",
                figures(wrong),
                figures(others),
                it.wrong.ns(),
                it.pairs.directed(),
                it.others.ns(),
            );
            finding(id, severity, message)
        }));
    }
}

/// Nodes at one distance in several classes: all but the nearest class are a hop further.
fn add_hidden_hops(cpu_node: NodeId, row: &[Placed], hidden: &mut HiddenHops) {
    let mut by_distance: BTreeMap<u32, BTreeMap<usize, Vec<&Placed>>> = BTreeMap::new();
    for placed in row {
        let classes = by_distance.entry(placed.distance).or_default();
        classes.entry(placed.class).or_default().push(placed);
    }
    for (distance, classes) in by_distance {
        let mut classes = classes.values();
        let Some(nearest) = classes.next() else {
            continue;
        };
        for (hop, further) in classes.enumerate() {
            let all = hidden.entry((distance, hop)).or_default();
            all.add(cpu_node, further, nearest);
        }
    }
}

fn hidden_hop(distance: u32, hop: usize, all: &Misplaced, only: Option<u32>) -> Finding {
    let hides = match hop {
        0 => "a hop",
        _ => "another hop",
    };
    let said = match only {
        Some(only) if only == distance => {
            format!("the firmware gives every remote node distance {distance}, which")
        }
        _ => format!("distance {distance}"),
    };
    let message = format!(
        "{said} hides {hides}: {} {}, against {} to the nearest nodes at that distance ({} more)",
        all.wrong.ns(),
        all.pairs.directed(),
        all.others.ns(),
        all.more.percent(),
    );
    finding(HIDDEN_HOP, Severity::Warning, message)
}

/// Nodes that the firmware puts nearer than others that actually measure nearer. `local.rs` judges
/// whether a node's own memory is the nearest.
fn add_understated(cpu_node: NodeId, row: &[Placed], all: &mut ByDistances) {
    let is_before =
        |near: &Placed, far: &Placed| near.distance < far.distance && near.class > far.class;
    for class in classes(row) {
        let wrong = row.iter().filter(|near| {
            let is_wrong = row.iter().any(|far| is_before(near, far));
            near.class == class && near.measured.node != cpu_node && is_wrong
        });
        let wrong: Vec<&Placed> = wrong.collect();
        let nearer = row
            .iter()
            .filter(|far| wrong.iter().any(|near| is_before(near, far)));
        add(cpu_node, &wrong, &nearer.collect::<Vec<_>>(), all);
    }
}

/// Nodes that the firmware puts further away than others that measure like them.
fn add_overstated(cpu_node: NodeId, row: &[Placed], all: &mut ByDistances) {
    for class in classes(row) {
        let members = row.iter().filter(|placed| placed.class == class);
        let nearest = members.clone().map(|placed| placed.distance).min();
        let (alike, wrong): (Vec<&Placed>, Vec<&Placed>) =
            members.partition(|placed| Some(placed.distance) == nearest);
        add(cpu_node, &wrong, &alike, all);
    }
}

fn add(cpu_node: NodeId, wrong: &[&Placed], others: &[&Placed], all: &mut ByDistances) {
    if wrong.is_empty() {
        return;
    }
    let distances = |of: &[&Placed]| of.iter().map(|placed| placed.distance).collect();
    let key = (distances(wrong), distances(others));
    all.entry(key).or_default().add(cpu_node, wrong, others);
}

impl Misplaced {
    fn add(&mut self, cpu_node: NodeId, wrong: &[&Placed], others: &[&Placed]) {
        for placed in wrong {
            self.pairs.insert(cpu_node, placed.measured.node);
        }
        self.wrong.extend(wrong.iter().map(|it| it.measured.ns));
        self.others.extend(others.iter().map(|it| it.measured.ns));
        let shares = wrong.iter().flat_map(|wrong| {
            let shares = others.iter();
            shares.map(|other| wrong.measured.ns / other.measured.ns - 1.0)
        });
        self.more.extend(shares);
    }
}

/// The classes of a row.
fn classes(row: &[Placed]) -> BTreeSet<usize> {
    row.iter().map(|placed| placed.class).collect()
}

/// The distance of all pairs of different nodes, if they all have the same.
fn only_remote_distance(distances: &DistanceTable) -> Option<u32> {
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
