//! Findings on the firmware's table alone.

use std::collections::BTreeMap;

use model::{DistanceTable, Finding, NodeId, NodeMatrix, Severity};

use super::classes::Measured;
use super::findings::{ASYMMETRIC_DISTANCES, IMPOSSIBLE_DISTANCE, finding};
use super::pairs::{Pairs, Range};

/// The distance of a node from itself (ACPI, System Locality Information Table). Linux rejects a
/// table in which it differs, or in which a remote distance is not greater: `slit_valid`,
/// drivers/acpi/numa/srat.c.
const LOCAL: u32 = 10;

/// No path from one node to the other (ACPI).
const UNREACHABLE: u32 = 255;

/// Adds the findings.
pub(crate) fn judge(matrix: &NodeMatrix, distances: &DistanceTable, found: &mut Vec<Finding>) {
    impossible(matrix, distances, found);
    asymmetric(distances, found);
}

fn impossible(matrix: &NodeMatrix, distances: &DistanceTable, found: &mut Vec<Finding>) {
    let mut add = |message| found.push(finding(IMPOSSIBLE_DISTANCE, Severity::Warning, message));
    let local = by_distance(distances, |from, to, distance| {
        from == to && distance != LOCAL
    });
    if !local.is_empty() {
        add(format!(
            "a node is at distance {LOCAL} from itself by definition, but {}",
            listed(&local)
        ));
    }
    let near = by_distance(distances, |from, to, distance| {
        from != to && distance <= LOCAL
    });
    if !near.is_empty() {
        add(format!(
            "a remote node is further than {LOCAL} by definition, but {}",
            listed(&near)
        ));
    }
    let far = by_distance(distances, |from, to, distance| {
        from != to && distance == UNREACHABLE
    });
    if let Some(pairs) = far.get(&UNREACHABLE) {
        let mut measured = Range::default();
        measured.extend(pairs.iter().filter_map(|(from, to)| {
            let cell = matrix.cell(from, to)?;
            Some(Measured::of(to, cell)?.ns)
        }));
        let yet = match measured.is_empty() {
            true => String::new(),
            false => format!("; yet it was measured: {}", measured.ns()),
        };
        add(format!(
            "distance {UNREACHABLE} means that there is no way: {}{yet}",
            pairs.directed()
        ));
    }
}

fn asymmetric(distances: &DistanceTable, found: &mut Vec<Finding>) {
    let unlike = distances.cells().filter_map(|(from, to, there)| {
        let back = distances.distance(to, from)?;
        (from < to && back != there).then_some((from, to, there, back))
    });
    let unlike: Vec<(NodeId, NodeId, u32, u32)> = unlike.collect();
    let Some((from, to, there, back)) = unlike.first() else {
        return;
    };
    let pairs: Pairs = unlike.iter().map(|(from, to, ..)| (*from, *to)).collect();
    let message = format!(
        "the firmware's distances depend on the direction {}: {there} from {from} to {to}, {back} \
         from {to} to {from}",
        pairs.mutual()
    );
    found.push(finding(ASYMMETRIC_DISTANCES, Severity::Info, message));
}

/// The wanted pairs, by the distance between them.
fn by_distance(
    distances: &DistanceTable,
    wanted: impl Fn(NodeId, NodeId, u32) -> bool,
) -> BTreeMap<u32, Pairs> {
    let mut found: BTreeMap<u32, Pairs> = BTreeMap::new();
    for (from, to, distance) in distances.cells() {
        if wanted(from, to, distance) {
            found.entry(distance).or_default().insert(from, to);
        }
    }
    found
}

/// `9 from node 1 to node 0, 10 from node 0 to node 1`.
fn listed(by_distance: &BTreeMap<u32, Pairs>) -> String {
    let each = by_distance.iter();
    let each = each.map(|(distance, pairs)| format!("{distance} {}", pairs.directed()));
    each.collect::<Vec<_>>().join(", ")
}
