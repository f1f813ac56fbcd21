//! Compares the classes of each row with the classes that the firmware's distances make: nodes
//! that one tells apart and the other does not, and nodes in the wrong order.

use std::collections::{BTreeMap, BTreeSet};

use model::{DistanceTable, Finding, NodeId, NodeMatrix, NodeSet, Severity};

use super::classes::{Measured, classes_of_row};
use super::figures;
use super::judge::{HIDDEN_HOP, OVERSTATED, UNDERSTATED, finding};

/// A measured node of a row, with its class and the firmware's distance.
struct Placed {
    measured: Measured,
    class: usize,
    distance: u32,
}

/// Adds what the rows say.
pub(crate) fn judge(matrix: &NodeMatrix, distances: &DistanceTable, found: &mut Vec<Finding>) {
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
        hidden_hops(cpu_node, &row, found);
        understated(cpu_node, &row, found);
        overstated(cpu_node, &row, found);
    }
}

/// Nodes at one distance in several classes: all but the nearest class are a hop further.
fn hidden_hops(cpu_node: NodeId, row: &[Placed], found: &mut Vec<Finding>) {
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
        for further in classes {
            let (near, far) = (Extent::of(nearest), Extent::of(further));
            let is = if far.nodes.len() == 1 { "is" } else { "are" };
            let more = figures::percent_range(far.low / near.high - 1.0, far.high / near.low - 1.0);
            found.push(finding(
                HIDDEN_HOP,
                Severity::Warning,
                format!(
                    "from node {cpu_node}, {} {is} a hop further than {}: {} against {}, {more} \
                     more; the firmware gives distance {distance} to all of them",
                    figures::nodes(&far.nodes),
                    figures::nodes(&near.nodes),
                    figures::ns_range(far.low, far.high),
                    figures::ns_range(near.low, near.high),
                ),
            ));
        }
    }
}

/// Nodes that the firmware puts nearer than others which measure nearer than they; one finding for
/// each class of them. Whether the own memory is the nearest is judged elsewhere.
fn understated(cpu_node: NodeId, row: &[Placed], found: &mut Vec<Finding>) {
    let is_before =
        |near: &Placed, far: &Placed| near.distance < far.distance && near.class > far.class;
    for class in classes(row) {
        let wrong = row.iter().filter(|near| {
            let is_wrong = row.iter().any(|far| is_before(near, far));
            near.class == class && near.measured.node != cpu_node && is_wrong
        });
        let wrong: Vec<&Placed> = wrong.collect();
        if wrong.is_empty() {
            continue;
        }
        let nearer = row
            .iter()
            .filter(|far| wrong.iter().any(|near| is_before(near, far)));
        let nearer = Extent::of(&nearer.collect::<Vec<_>>());
        let wrong = Extent::of(&wrong);
        let than = "further than";
        found.push(finding(
            UNDERSTATED,
            Severity::Warning,
            sentence(cpu_node, &wrong, than, &nearer, "further away"),
        ));
    }
}

/// Nodes that the firmware puts further away than others which measure like them; one finding for
/// each class of them.
fn overstated(cpu_node: NodeId, row: &[Placed], found: &mut Vec<Finding>) {
    for class in classes(row) {
        let members = row.iter().filter(|placed| placed.class == class);
        let nearest = members.clone().map(|placed| placed.distance).min();
        let (alike, wrong): (Vec<&Placed>, Vec<&Placed>) =
            members.partition(|placed| Some(placed.distance) == nearest);
        if wrong.is_empty() {
            continue;
        }
        let (alike, wrong) = (Extent::of(&alike), Extent::of(&wrong));
        found.push(finding(
            OVERSTATED,
            Severity::Info,
            sentence(cpu_node, &wrong, "like", &alike, "nearer"),
        ));
    }
}

/// The classes of a row.
fn classes(row: &[Placed]) -> BTreeSet<usize> {
    row.iter().map(|placed| placed.class).collect()
}

/// `from node 0, node 1 (260 ns) measures further than node 2 (140 ns), which …`.
fn sentence(cpu_node: NodeId, wrong: &Extent, than: &str, other: &Extent, puts: &str) -> String {
    let measure = if wrong.nodes.len() == 1 {
        "measures"
    } else {
        "measure"
    };
    format!(
        "from node {cpu_node}, {} ({}) {measure} {than} {} ({}), which the firmware puts {puts}: \
         distance {} against {}",
        figures::nodes(&wrong.nodes),
        figures::ns_range(wrong.low, wrong.high),
        figures::nodes(&other.nodes),
        figures::ns_range(other.low, other.high),
        wrong.distances(),
        other.distances(),
    )
}

/// What several nodes have between them.
struct Extent {
    nodes: NodeSet,
    low: f64,
    high: f64,
    distances: BTreeSet<u32>,
}

impl Extent {
    fn of(placed: &[&Placed]) -> Self {
        let figures = placed.iter().map(|placed| placed.measured.ns);
        Extent {
            nodes: placed.iter().map(|placed| placed.measured.node).collect(),
            low: figures.clone().fold(f64::INFINITY, f64::min),
            high: figures.fold(0.0, f64::max),
            distances: placed.iter().map(|placed| placed.distance).collect(),
        }
    }

    /// `21`, `12 to 13`.
    fn distances(&self) -> String {
        match (self.distances.first(), self.distances.last()) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (Some(only), _) => only.to_string(),
            (None, _) => String::new(),
        }
    }
}
