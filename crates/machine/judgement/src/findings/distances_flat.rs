//! The same distance between all nodes.

use std::collections::BTreeSet;

use model::{DistanceTable, Severity};

use super::row::{Check, Row};
use crate::doctor::distances::of_firmware;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};
use crate::hops::only_remote_distance;

pub(super) const ROW: Row = Row {
    id: "distances-flat",
    severity: Severity::Info,
    about: "the firmware gives all remote nodes one distance, so a further hop does not show",
    cost: "a hop that the firmware hid cost 37 ns (248 against 211 ns)",
    cost_source: "Hoogland, \"memory allocation on startup\", 2016",
    checks: &[Check::Doctor(sight::distances, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let distances = DistanceTable::of(&input.topology)?;
    let remote = distances.cells().filter(|(from, to, _)| from != to);
    let pairs: BTreeSet<_> = remote
        .map(|(from, to, _)| (from.min(to), from.max(to)))
        .collect();
    let nodes = input.topology.nodes.len();
    let are_known = pairs.len() == nodes * nodes.saturating_sub(1) / 2;
    // Two nodes have nothing to compare.
    let distance = only_remote_distance(&distances).filter(|_| are_known && pairs.len() > 1)?;
    Some(of_firmware(
        format!("the firmware gives distance {distance} between any two of {nodes} nodes"),
        vec![fact("/sys/devices/system/node/node*/distance", distance)],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn more_than_two_nodes_at_one_distance_are_found() {
        let case = |rows: &[&[u32]], expected: bool| {
            assert_eq!(check(&machine(rows)).is_some(), expected, "{rows:?}");
        };
        case(&[&[10, 21], &[21, 10]], false);
        case(&[&[10, 21, 21], &[21, 10, 21], &[21, 21, 10]], true);
        case(&[&[10, 21, 31], &[21, 10, 21], &[31, 21, 10]], false);
        case(&[&[10, 21], &[]], false);
        case(&[&[10, 21, 0], &[20, 10, 0], &[0, 0, 0]], false);
        case(&[&[10, 21, 21], &[21, 10, 0], &[21, 0, 10]], false);
    }
}
