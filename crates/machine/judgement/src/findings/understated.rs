//! A node nearer by its distance that measures further, or a distance that says far too little.
//! The analysis of the rows and that of the scale are in `hops`, because it finds both kinds.

use model::Severity;

use super::row::{Check, Row};
use crate::found::Found;
use crate::hops::row_against_firmware::understated;
use crate::hops::scale;
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "understated",
    severity: Severity::Warning,
    about: "the firmware's distance understates what was measured",
    cost: "the kernel falls back to memory that is further than other memory",
    cost_source: "kernel, mm/page_alloc.c (find_next_best_node)",
    checks: &[Check::Latency(check)],
};

fn check(input: &LatencyInput<'_>) -> Vec<Found> {
    let Some(distances) = input.comparable_distances() else {
        return Vec::new();
    };
    let by_order = understated(input.matrix, distances);
    let mut found: Vec<Found> = by_order
        .iter()
        .map(|it| Found::that(it.sentence("measures further than")))
        .collect();
    // Placement only needs the order: a wrong scale alone is for information.
    let by_scale = scale::too_little(input.matrix, distances);
    found.extend(by_scale.map(|sentence| Found::that(sentence).for_information()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hops::samples::{matrix, table};

    #[test]
    fn a_wrong_order_matters_more_than_a_wrong_scale() {
        let matrix = matrix(&[&[80.0, 260.0, 140.0]]);
        let distances = table(&[&[10, 12, 32], &[12, 10, 32], &[32, 32, 10]]);
        let found = check(&LatencyInput::new(&matrix, Some(&distances), &[], &[]));
        let severities: Vec<_> = found.iter().map(|it| it.severity).collect();
        assert_eq!(severities, [None, Some(Severity::Info)], "{found:?}");
    }
}
