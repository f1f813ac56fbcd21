//! Every node measures alike from everywhere.

use std::collections::BTreeSet;

use model::Severity;

use super::row::{Check, Row};
use crate::found::Found;
use crate::hops::Measured;
use crate::hops::pairs::Range;
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "flat-latency",
    severity: Severity::Warning,
    about: "all nodes measure alike from everywhere",
    cost: "placement has no effect: no memory is nearer than any other",
    cost_source: "the figures of the matrix",
    checks: &[Check::Latency(check)],
};

fn check(input: &LatencyInput<'_>) -> Vec<Found> {
    if !input.is_flat {
        return Vec::new();
    }
    let (matrix, distances) = (input.matrix, input.distances);
    let cells = matrix
        .rows()
        .flat_map(|(node, cells)| cells.iter().map(move |cell| (node, cell)));
    let mut range = Range::default();
    range.extend(cells.filter_map(|(node, cell)| Some(Measured::of(node, cell)?.ns)));
    let told_apart = distances.is_some_and(|distances| {
        let values: BTreeSet<u32> = distances.cells().map(|(_, _, value)| value).collect();
        values.len() > 1
    });
    let although = if told_apart {
        ", although the firmware tells them apart"
    } else {
        ""
    };
    let range = range.ns();
    let found = Found::that(format!(
        "all nodes measure alike from everywhere ({range}){although}: memory is interleaved below \
         the kernel, or the nodes of a virtual machine do not match those of its host"
    ));
    vec![if told_apart {
        found
    } else {
        found.for_information()
    }]
}

#[cfg(test)]
mod tests {
    use model::DistanceTable;

    use super::*;
    use crate::hops::samples::{matrix, table};

    #[test]
    fn memory_interleaved_below_the_kernel_is_flat() {
        // An E5-2630 v4 as MLC measured it.
        let rows: [&[f64]; 2] = [&[106.9, 106.9], &[107.2, 107.2]];
        let matrix = matrix(&rows);
        let messages = |distances: Option<&DistanceTable>| -> Vec<String> {
            let found = check(&LatencyInput::new(&matrix, distances, &[], &[]));
            found.into_iter().map(|it| it.message).collect()
        };
        let text = "all nodes measure alike from everywhere (107 ns)";
        let found = messages(Some(&table(&[&[10, 21], &[21, 10]])));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains(text) && found[0].contains("the firmware tells"),
            "{found:?}"
        );
        let found = messages(None);
        assert!(
            found[0].contains(text) && !found[0].contains("firmware tells"),
            "{found:?}"
        );
    }
}
