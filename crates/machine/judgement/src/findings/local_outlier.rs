//! The local latency of a node against that of the other nodes.

use model::{NodeSet, Severity};

use super::row::{Check, Row};
use crate::found::Found;
use crate::hops::pairs::Range;
use crate::hops::{Measured, figures};
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "local-outlier",
    severity: Severity::Warning,
    about: "the own memory of a node is slower or faster than that of the others",
    cost: "the same work is slower on one node than on another",
    cost_source: "the figures of the matrix",
    checks: &[Check::Latency(check)],
};

/// Local latencies that differ by this share or more are reported. The CPUs of one node differ by
/// less: 15 ns within one cell were seen on Granite Rapids, and in published matrices of identical
/// nodes the local figures spread by up to 3 %.
const LOCAL_SHARE: f64 = 0.10;

/// One finding for all nodes whose own memory is slower than that of the median node, and one for
/// all whose own is faster: by [`LOCAL_SHARE`], and by more than their intervals, where they have
/// any. The median is the lower of the middle two figures, so that of two nodes the slower one is
/// the outlier, and the median was measured and has its own interval.
fn check(input: &LatencyInput<'_>) -> Vec<Found> {
    let matrix = input.matrix;
    let mut local: Vec<Measured> = matrix
        .rows()
        .filter_map(|(node, _)| Measured::of(node, matrix.cell(node, node)?))
        .collect();
    local.sort_by(|a, b| a.ns.total_cmp(&b.ns).then(a.node.cmp(&b.node)));
    let Some(median) = local.get(local.len().saturating_sub(1) / 2).copied() else {
        return Vec::new();
    };
    let share = |it: &Measured| (it.ns / median.ns - 1.0).abs();
    let outliers = local
        .iter()
        .filter(|it| share(it) >= LOCAL_SHARE && !it.overlaps(&median));
    let (slower, faster): (Vec<&Measured>, Vec<&Measured>) =
        outliers.partition(|it| it.ns > median.ns);
    let mut found = Vec::new();
    for (outliers, word) in [(slower, "slower"), (faster, "faster")] {
        if outliers.is_empty() {
            continue;
        }
        let (mut ns, mut shares) = (Range::default(), Range::default());
        ns.extend(outliers.iter().map(|it| it.ns));
        shares.extend(outliers.iter().map(|it| share(it)));
        let nodes: NodeSet = outliers.iter().map(|it| it.node).collect();
        found.push(Found::that(format!(
            "the local memory of {} is {word} ({}) than that of the median node ({}), by {}: its \
             memory modules, channels or CPUs may differ from those of the other nodes",
            figures::nodes(&nodes),
            ns.ns(),
            figures::ns(median.ns),
            shares.percent(),
        )));
    }
    found
}

#[cfg(test)]
mod tests {
    use model::{MatrixCell, NodeId, NodeMatrix};

    use super::*;

    fn messages(matrix: &NodeMatrix) -> Vec<String> {
        let found = check(&LatencyInput::new(matrix, None, &[], &[]));
        found.into_iter().map(|it| it.message).collect()
    }

    /// A square matrix with these local latencies and 200 ns between any two nodes.
    fn with_local(local: &[f64]) -> NodeMatrix {
        let cell = |from: usize, to: usize| match from == to {
            true => MatrixCell::of(local[from]),
            false => MatrixCell::of(200.0),
        };
        let row = |from| (0..local.len()).map(|to| cell(from, to)).collect();
        let ids: Vec<NodeId> = (0..local.len() as u32).map(NodeId).collect();
        NodeMatrix::new(ids.clone(), ids, (0..local.len()).map(row).collect()).unwrap()
    }

    #[test]
    fn local_latencies_are_compared_with_that_of_the_median_node() {
        let check = |local: &[f64], expected: &[&str]| {
            let found = messages(&with_local(local));
            assert_eq!(found.len(), expected.len(), "{local:?}: {found:?}");
            for (line, expected) in found.iter().zip(expected) {
                assert!(line.contains(expected), "{line}");
            }
        };
        // Of two nodes the slower one is named.
        check(
            &[95.0, 115.0],
            &["node 1 is slower (115 ns) than that of the median node (95.0 ns)"],
        );
        check(&[115.0, 95.0], &["node 0 is slower (115 ns)"]);
        check(
            &[103.0, 104.0, 139.0, 102.0],
            &["node 2 is slower (139 ns) than that of the median node (103 ns), by 34 %"],
        );
        check(
            &[100.0, 100.0, 100.0, 70.0, 130.0, 140.0, 100.0],
            &[
                "nodes 4-5 is slower (130 to 140 ns) than that of the median node (100 ns), by 30 \
                 to 40 %",
                "node 3 is faster (70.0 ns) than that of the median node (100 ns), by 30 %",
            ],
        );
        // Published matrices of identical nodes, and differences below a tenth.
        check(&[107.5, 106.8, 106.8, 105.9], &[]);
        check(&[100.0, 109.0], &[]);
        check(&[100.0], &[]);
        check(&[], &[]);
    }

    #[test]
    fn local_latencies_whose_intervals_overlap_do_not_differ() {
        let with_half_width = |half: f64| {
            let mut matrix = with_local(&[95.0, 115.0]);
            for node in 0..2 {
                let cell = matrix.cell_mut(node, node);
                let value = cell.value.unwrap();
                (cell.low, cell.high) = (Some(value - half), Some(value + half));
            }
            messages(&matrix).len()
        };
        assert_eq!(with_half_width(5.0), 1);
        assert_eq!(with_half_width(12.0), 0);
    }
}
