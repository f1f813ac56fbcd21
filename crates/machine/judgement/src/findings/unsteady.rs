//! Figures that scatter.

use model::{Severity, counted};

use super::row::{Check, Row};
use crate::found::Found;
use crate::hops::pairs::Pairs;
use crate::inputs::{BandwidthInput, LatencyInput};

pub(super) const ROW: Row = Row {
    id: "unsteady",
    severity: Severity::Warning,
    about: "figures scatter too much to be reliable",
    cost: "a small difference cannot be told from chance",
    cost_source: "docs/measurement.md",
    checks: &[
        Check::Latency(of_latencies),
        Check::Bandwidth(of_bandwidths),
    ],
};

fn of_latencies(input: &LatencyInput<'_>) -> Vec<Found> {
    let matrix = input.matrix;
    let mut pairs = Pairs::default();
    for (cpu_node, cells) in matrix.rows() {
        let cells = matrix.memory_nodes().iter().zip(cells);
        for (node, _) in cells.filter(|(_, cell)| cell.is_unsteady) {
            pairs.insert(cpu_node, *node);
        }
    }
    if pairs.is_empty() {
        return Vec::new();
    }
    vec![Found::that(format!(
        "the figures {} scatter by more than 5 %: measure again when the machine is quieter",
        pairs.directed()
    ))]
}

fn of_bandwidths(input: &BandwidthInput<'_>) -> Option<Found> {
    let cells = input.matrix.rows().flat_map(|(_, cells)| cells);
    let count = cells.filter(|cell| cell.is_unsteady).count();
    (count > 0).then(|| {
        Found::that(format!(
            "{} of {} with a scatter above 5 %: something else used the memory or the CPUs",
            counted(count, "cell"),
            input.kernel
        ))
    })
}

#[cfg(test)]
mod tests {
    use model::NodeMatrix;

    use super::*;
    use crate::hops::samples::matrix;

    fn messages(matrix: &NodeMatrix) -> Vec<String> {
        let of_latencies = of_latencies(&LatencyInput::new(matrix, None, &[], &[]));
        let of_bandwidths = of_bandwidths(&BandwidthInput {
            kernel: "triad",
            matrix,
            warnings: &[],
        });
        let found = of_latencies.into_iter().chain(of_bandwidths);
        found.map(|it| it.message).collect()
    }

    #[test]
    fn cells_that_scatter_are_named() {
        let mut matrix = matrix(&[&[80.0, 140.0]]);
        assert_eq!(messages(&matrix), [""; 0]);
        let cell = matrix.cell_mut(0, 1);
        (cell.is_unsteady, cell.low, cell.high) = (true, Some(120.0), Some(180.0));
        let found = messages(&matrix);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("the figures from node 0 to node 1"));
        assert!(found[1].starts_with("1 cell of triad with a scatter above 5 %"));
    }
}
