//! Another node's memory that is nearer than the node's own.

use model::Severity;

use super::row::{Check, Row};
use crate::found::Found;
use crate::hops::classes_of_row;
use crate::hops::pairs::{Pairs, Range};
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "local-not-nearest",
    severity: Severity::Warning,
    about: "another node's memory is nearer than a node's own",
    cost: "memory that is placed on the node of its CPUs is slower than memory on another",
    cost_source: "the figures of the matrix",
    checks: &[Check::Latency(check)],
};

fn check(input: &LatencyInput<'_>) -> Vec<Found> {
    let matrix = input.matrix;
    let mut pairs = Pairs::default();
    let (mut nearer, mut local) = (Range::default(), Range::default());
    for (cpu_node, cells) in matrix.rows() {
        let classes = classes_of_row(matrix, cells);
        let Some((nearest, others)) = classes.split_first() else {
            continue;
        };
        let mut others = others.iter().flatten();
        let Some(own) = others.find(|member| member.node == cpu_node) else {
            continue;
        };
        local.add(own.ns);
        nearer.extend(nearest.iter().map(|member| member.ns));
        for member in nearest {
            pairs.insert(cpu_node, member.node);
        }
    }
    if pairs.is_empty() {
        return Vec::new();
    }
    vec![Found::that(format!(
        "remote memory is nearer ({}) than local memory ({}): {}; the firmware may have assigned \
         CPUs or memory to the wrong node",
        nearer.ns(),
        local.ns(),
        pairs.directed(),
    ))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hops::samples::matrix;

    #[test]
    fn memory_of_another_node_that_is_nearer_is_reported() {
        let matrix = matrix(&[&[140.0, 80.0], &[80.0, 140.0]]);
        let found = check(&LatencyInput::new(&matrix, None, &[], &[]));
        let expected = "remote memory is nearer (80.0 ns) than local memory (140 ns): from node 0 \
                        to node 1, from node 1 to node 0;";
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.starts_with(expected), "{found:?}");
    }
}
