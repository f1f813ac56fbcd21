//! What is wrong with the firmware's table by itself.

use std::collections::BTreeSet;

use model::{DistanceTable, Finding, NodeId, NodeMatrix, NodeSet, Severity};

use super::classes::{Measured, classes_of_row};
use super::figures;
use super::judge::{ASYMMETRIC_DISTANCES, FLAT_TABLE, IMPOSSIBLE_DISTANCE, finding};

/// The distance of a node from itself (ACPI, System Locality Information Table). Linux throws a
/// table away in which it is another, or a remote one is not greater: `slit_valid`,
/// drivers/acpi/numa/srat.c.
const LOCAL: u32 = 10;

/// No way from one to the other (ACPI).
const UNREACHABLE: u32 = 255;

/// Adds what the table says.
pub(crate) fn judge(matrix: &NodeMatrix, distances: &DistanceTable, found: &mut Vec<Finding>) {
    impossible(matrix, distances, found);
    asymmetric(distances, found);
    flat(matrix, distances, found);
}

fn impossible(matrix: &NodeMatrix, distances: &DistanceTable, found: &mut Vec<Finding>) {
    let local = pairs(distances, |from, to, distance| {
        from == to && distance != LOCAL
    });
    if let Some(example) = local.example() {
        found.push(finding(
            IMPOSSIBLE_DISTANCE,
            Severity::Warning,
            format!("a node is at distance {LOCAL} from itself by definition, but not {example}"),
        ));
    }
    let near = pairs(distances, |from, to, distance| {
        from != to && distance <= LOCAL
    });
    if let Some(example) = near.example() {
        found.push(finding(
            IMPOSSIBLE_DISTANCE,
            Severity::Warning,
            format!("a remote node is further than {LOCAL} by definition, but not {example}"),
        ));
    }
    let far = pairs(distances, |from, to, distance| {
        from != to && distance == UNREACHABLE
    });
    if let Some(example) = far.example() {
        let cells = far.pairs.iter().filter_map(|(from, to, _)| {
            let cell = matrix.cell(*from, *to)?;
            Some(Measured::of(*to, cell)?.ns)
        });
        let (low, high) = cells.fold((f64::INFINITY, 0.0f64), |(low, high), ns| {
            (low.min(ns), high.max(ns))
        });
        let yet = if low <= high {
            format!("; yet it was measured: {}", figures::ns_range(low, high))
        } else {
            String::new()
        };
        found.push(finding(
            IMPOSSIBLE_DISTANCE,
            Severity::Warning,
            format!("distance {UNREACHABLE} means that there is no way: {example}{yet}"),
        ));
    }
}

fn asymmetric(distances: &DistanceTable, found: &mut Vec<Finding>) {
    let unlike = pairs(distances, |from, to, distance| {
        let back = distances.distance(to, from);
        from < to && back.is_some_and(|back| back != distance)
    });
    if let Some((from, to, distance)) = unlike.pairs.first() {
        let back = distances.distance(*to, *from).unwrap_or_default();
        let more = and_more(unlike.pairs.len() - 1);
        found.push(finding(
            ASYMMETRIC_DISTANCES,
            Severity::Info,
            format!(
                "the firmware's distances depend on the direction: {distance} from {from} to {to}, \
                 {back} from {to} to {from}{more}"
            ),
        ));
    }
}

/// One distance for all remote nodes, where some row tells remote nodes apart.
fn flat(matrix: &NodeMatrix, distances: &DistanceTable, found: &mut Vec<Finding>) {
    let cells = distances.cells();
    let remote: BTreeSet<u32> = cells
        .filter(|(from, to, _)| from != to)
        .map(|(_, _, distance)| distance)
        .collect();
    let mut remote = remote.into_iter();
    let (Some(distance), None) = (remote.next(), remote.next()) else {
        return;
    };
    let remote_classes = |(cpu_node, cells): (NodeId, &[model::MatrixCell])| {
        let classes = classes_of_row(matrix, cells);
        let is_remote = |class: &&Vec<Measured>| class.iter().any(|member| member.node != cpu_node);
        classes.iter().filter(is_remote).count()
    };
    let most = matrix.rows().map(remote_classes).max().unwrap_or(0);
    if most > 1 {
        found.push(finding(
            FLAT_TABLE,
            Severity::Info,
            format!(
                "the firmware gives one distance, {distance}, to every remote node; up to {most} \
                 classes of them were measured"
            ),
        ));
    }
}

/// Pairs of nodes with the distance between them.
struct Pairs {
    pairs: Vec<(NodeId, NodeId, u32)>,
}

fn pairs(distances: &DistanceTable, wanted: impl Fn(NodeId, NodeId, u32) -> bool) -> Pairs {
    let cells = distances.cells();
    Pairs {
        pairs: cells
            .filter(|(from, to, distance)| wanted(*from, *to, *distance))
            .collect(),
    }
}

impl Pairs {
    /// `from node 4 to nodes 0-3 (255)` and how many other rows there are.
    fn example(&self) -> Option<String> {
        let (from, _, distance) = self.pairs.first()?;
        let of_first = self.pairs.iter().filter(|(node, _, _)| node == from);
        let to: NodeSet = of_first.map(|(_, to, _)| *to).collect();
        let rows: BTreeSet<NodeId> = self.pairs.iter().map(|(from, _, _)| *from).collect();
        let more = match rows.len() - 1 {
            0 => String::new(),
            others => format!(", and in {others} other rows"),
        };
        Some(format!(
            "from node {from} to {} ({distance}){more}",
            figures::nodes(&to)
        ))
    }
}

fn and_more(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(", and between {count} other pairs"),
    }
}
