//! Nodes at several distances that measure alike, or a distance that says far too much.
//! The analysis of the rows and that of the scale are in `hops`, because it finds both kinds.

use model::Severity;

use super::row::{Check, Row};
use crate::found::Found;
use crate::hops::row_against_firmware::overstated;
use crate::hops::scale;
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "overstated",
    severity: Severity::Info,
    about: "the firmware's distance overstates what was measured",
    cost: "beyond 30, the kernel is slow to use idle CPUs of other nodes",
    cost_source: "kernel, include/linux/topology.h (RECLAIM_DISTANCE)",
    checks: &[Check::Latency(check)],
};

fn check(input: &LatencyInput<'_>) -> Vec<Found> {
    let Some(distances) = input.comparable_distances() else {
        return Vec::new();
    };
    let by_order = overstated(input.matrix, distances);
    let mut found: Vec<Found> = by_order
        .iter()
        .map(|it| Found::that(it.sentence("measures like")))
        .collect();
    let by_scale = scale::too_much(input.matrix, distances);
    found.extend(by_scale.map(Found::that));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hops::samples::{matrix, table};

    #[test]
    fn nodes_that_measure_like_nearer_ones_are_found() {
        let matrix = matrix(&[&[80.0, 140.0, 142.0, 230.0]]);
        let distances = table(&[
            &[10, 16, 22, 28],
            &[16, 10, 28, 22],
            &[22, 28, 10, 16],
            &[28, 22, 16, 10],
        ]);
        let found = check(&LatencyInput::new(&matrix, Some(&distances), &[], &[]));
        assert_eq!(found.len(), 1, "{found:?}");
        let message = &found[0].message;
        assert!(
            message.starts_with("distance 22 measures like distance 16: "),
            "{message}"
        );
    }
}
