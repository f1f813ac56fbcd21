//! Nodes at one distance by the firmware that measure a hop apart.

use model::Severity;

use super::row::{Check, Row};
use crate::found::Found;
use crate::hops::row_against_firmware::{HiddenHop, hidden_hops};
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "hidden-hop",
    severity: Severity::Warning,
    about: "nodes at the same firmware distance measure one hop apart",
    cost: "a hop that the firmware hid cost 37 ns (248 against 211 ns)",
    cost_source: "Hoogland, \"memory allocation on startup\", 2016",
    checks: &[Check::Latency(check)],
};

fn check(input: &LatencyInput<'_>) -> Vec<Found> {
    let hidden = input.comparable_distances().map(|distances| {
        let hops = hidden_hops(input.matrix, distances);
        hops.iter().map(|hop| Found::that(message(hop))).collect()
    });
    hidden.unwrap_or_default()
}

fn message(it: &HiddenHop) -> String {
    let distance = it.distance;
    let hides = match it.hop {
        0 => "a hop",
        _ => "another hop",
    };
    let said = match it.is_only_distance {
        true => format!("the firmware gives every remote node distance {distance}, which"),
        false => format!("distance {distance}"),
    };
    format!(
        "{said} hides {hides}: {} {}, against {} to the nearest nodes at that distance ({} more)",
        it.nodes.wrong.ns(),
        it.nodes.pairs.directed(),
        it.nodes.others.ns(),
        it.nodes.more.percent(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hops::samples::{matrix, table};

    #[test]
    fn two_hops_at_one_distance_are_two_findings() {
        let matrix = matrix(&[&[80.0, 140.0, 190.0, 260.0]]);
        let distances = table(&[
            &[10, 21, 21, 21],
            &[21, 10, 21, 21],
            &[21, 21, 10, 21],
            &[21, 21, 21, 10],
        ]);
        let found = check(&LatencyInput::new(&matrix, Some(&distances), &[], &[]));
        let messages: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(messages.len(), 2, "{messages:#?}");
        assert!(messages[0].contains("hides a hop: 190 ns from node 0 to node 2"));
        assert!(messages[1].contains("hides another hop: 260 ns from node 0 to node 3"));
    }
}
