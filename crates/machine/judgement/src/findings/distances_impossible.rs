//! Distances that ACPI rules out.

use std::collections::BTreeMap;

use model::{DistanceTable, NodeId, NodeMatrix, Severity};

use super::row::{Check, Row};
use crate::doctor::distances::{of_firmware, rows};
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;
use crate::hops::Measured;
use crate::hops::pairs::{Pairs, Range};
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "distances-impossible",
    severity: Severity::Warning,
    about: "the firmware's distances contradict their own definition",
    cost: "the kernel chooses fallback nodes and scheduler domains by them",
    cost_source: "ACPI 6.5, 5.2.17 (System Locality Information Table)",
    checks: &[
        Check::Doctor(sight::distances, of_machine),
        Check::Latency(of_latencies),
    ],
};

/// The distance of a node from itself (ACPI 6.5, 5.2.17, System Locality Information Table). Linux
/// rejects a table in which it differs, or in which a remote distance is not greater: `slit_valid`,
/// drivers/acpi/numa/srat.c.
const LOCAL: u32 = 10;

/// No path from one node to the other (ACPI). It is also the greatest distance that fits in the
/// table.
const UNREACHABLE: u32 = 255;

fn of_machine(input: &DoctorInput) -> Option<Found> {
    let distances = DistanceTable::of(&input.topology)?;
    let message = check(&distances, &NodeMatrix::default())?;
    Some(of_firmware(message, rows(&input.topology)))
}

fn of_latencies(input: &LatencyInput<'_>) -> Vec<Found> {
    let message = input.distances.and_then(|it| check(it, input.matrix));
    message.map(Found::that).into_iter().collect()
}

fn check(distances: &DistanceTable, matrix: &NodeMatrix) -> Option<String> {
    let mut said = Vec::new();
    let local = by_distance(distances, |from, to, distance| {
        from == to && distance != LOCAL
    });
    if !local.is_empty() {
        said.push(format!(
            "a node is at distance {LOCAL} from itself by definition, but {}",
            listed(&local)
        ));
    }
    let near = by_distance(distances, |from, to, distance| {
        from != to && distance <= LOCAL
    });
    if !near.is_empty() {
        said.push(format!(
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
        said.push(format!(
            "distance {UNREACHABLE} means unreachable: {}{yet}",
            pairs.directed()
        ));
    }
    let beyond = by_distance(distances, |from, to, distance| {
        from != to && distance > UNREACHABLE
    });
    if !beyond.is_empty() {
        said.push(format!(
            "no distance is greater than {UNREACHABLE} by definition, but {}",
            listed(&beyond)
        ));
    }
    (!said.is_empty()).then(|| said.join("; "))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn what_acpi_rules_out_is_found() {
        let case = |rows: &[&[u32]], expected: bool| {
            assert_eq!(of_machine(&machine(rows)).is_some(), expected, "{rows:?}");
        };
        case(&[&[10, 21], &[21, 10]], false);
        case(&[&[10, 21], &[20, 10]], false);
        case(&[&[10, 255], &[255, 10]], true);
        case(&[&[10, 256], &[256, 10]], true);
        case(&[&[10, 9], &[9, 10]], true);
        case(&[&[20, 21], &[21, 10]], true);
        case(&[&[10, 21], &[]], false);
        case(&[&[10, 21, 0], &[20, 10, 0], &[0, 0, 0]], false);
    }

    #[test]
    fn what_the_row_of_a_node_without_cpus_says_is_not_judged() {
        let case = |rows: &[&[u32]], expected: bool| {
            let mut it = machine(rows);
            it.topology.nodes[1].cpus = model::CpuSet::new();
            assert_eq!(of_machine(&it).is_some(), expected, "{rows:?}");
        };
        case(&[&[10, 50], &[255, 10]], false);
        // The way to such a node is judged.
        case(&[&[10, 255], &[20, 10]], true);
    }
}
