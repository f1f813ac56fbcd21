//! Groups the memory nodes of a row into classes that measure alike.
//!
//! The method is the simplest that the published matrices allow: sort the row and cut it where two
//! neighbours are further apart than [`GAP_SHARE`]. (MCTOP also clusters latencies at the gaps of
//! their sorted values: Chatzopoulos et al. 2017, "Abstracting Multi-Core Topologies with MCTOP",
//! EuroSys. hwloc treats distances as equal that differ by up to 1, 2, 5 or 10 %, whichever first
//! yields groups: `HWLOC_GROUPING_ACCURACY`.) Where the intervals of two cells overlap, there is no
//! gap.

use model::{DistanceTable, HopClass, MatrixCell, NodeId, NodeMatrix};

/// The least gap between two classes, as a share of the nearer one.
///
/// Published rows set the value: nodes that are one hop away in the same way differ by up to 3 %
/// (211 and 217 ns in article 002; 199.9 and 200.7 ns between sub-NUMA clusters of two sockets),
/// while the other cluster of the same socket is 8.9 % further than the local one (117.1 against
/// 107.5 ns).
pub const GAP_SHARE: f64 = 0.05;

/// A class may not spread further than this, as a share of its nearest node: many small steps would
/// otherwise join near and far nodes. A wider class is cut at its widest gap.
pub const CLASS_SPREAD_SHARE: f64 = 0.15;

/// A measured cell of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    /// The memory node.
    pub(crate) node: NodeId,
    /// Its figure, ns.
    pub(crate) ns: f64,
    /// Its interval, or the figure itself.
    pub(crate) low: f64,
    /// See `low`.
    pub(crate) high: f64,
}

impl Measured {
    /// The figure of a cell, if it can be compared: a cell that scatters needs an interval to say
    /// how much.
    pub(crate) fn of(node: NodeId, cell: &MatrixCell) -> Option<Self> {
        let is_fit = |ns: &f64| ns.is_finite() && *ns > 0.0;
        let ns = cell.value.filter(is_fit)?;
        if cell.is_unsteady && (cell.low.is_none() || cell.high.is_none()) {
            return None;
        }
        Some(Measured {
            node,
            ns,
            low: cell.low.filter(is_fit).map_or(ns, |low| low.min(ns)),
            high: cell.high.filter(is_fit).map_or(ns, |high| high.max(ns)),
        })
    }

    /// Whether the intervals overlap.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

/// The classes of one row, the nearest first; each is sorted by figure.
pub(crate) fn classes_of_row(matrix: &NodeMatrix, cells: &[MatrixCell]) -> Vec<Vec<Measured>> {
    let nodes = matrix.memory_nodes().iter().zip(cells);
    let mut row: Vec<Measured> = nodes
        .filter_map(|(node, cell)| Measured::of(*node, cell))
        .collect();
    row.sort_by(|a, b| a.ns.total_cmp(&b.ns).then(a.node.cmp(&b.node)));
    let mut classes = Vec::new();
    for run in row.chunk_by(|near, far| gap(near, far) <= GAP_SHARE) {
        cut_wide(run, &mut classes);
    }
    classes
}

/// How much further the second is, as a share of the first; 0 where their intervals overlap.
fn gap(near: &Measured, far: &Measured) -> f64 {
    if far.low <= near.high {
        return 0.0;
    }
    far.ns / near.ns - 1.0
}

/// Adds the class, cut at its widest gap until no part is too wide.
fn cut_wide(mut class: &[Measured], classes: &mut Vec<Vec<Measured>>) {
    while let Some(at) = cut_of(class) {
        // The nearer part is a class or is cut further; the loop handles the farther part.
        cut_wide(&class[..at], classes);
        class = &class[at..];
    }
    classes.push(class.to_vec());
}

/// Where to cut a class that is too wide: before this member.
fn cut_of(class: &[Measured]) -> Option<usize> {
    let (first, last) = (class.first()?, class.last()?);
    if last.ns / first.ns - 1.0 <= CLASS_SPREAD_SHARE {
        return None;
    }
    let gaps = class.windows(2).map(|pair| gap(&pair[0], &pair[1]));
    let (index, widest) = gaps
        .enumerate()
        .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (widest > 0.0).then_some(index + 1)
}

/// The classes of every row, with the firmware's distances where they are known.
pub fn hop_classes(matrix: &NodeMatrix, distances: Option<&DistanceTable>) -> Vec<HopClass> {
    let mut found = Vec::new();
    for (cpu_node, cells) in matrix.rows() {
        for (number, members) in classes_of_row(matrix, cells).iter().enumerate() {
            let mut of_firmware: Vec<u32> = members
                .iter()
                .filter_map(|member| distances?.distance(cpu_node, member.node))
                .collect();
            of_firmware.sort_unstable();
            of_firmware.dedup();
            found.push(HopClass {
                cpu_node,
                class: u32::try_from(number).unwrap_or(u32::MAX),
                memory_nodes: members.iter().map(|member| member.node).collect(),
                ns_min: members[0].ns,
                ns: median(members),
                ns_max: members[members.len() - 1].ns,
                distances: of_firmware,
            });
        }
    }
    found
}

/// The median of a class, whose members are sorted.
fn median(members: &[Measured]) -> f64 {
    let middle = members.len() / 2;
    if members.len().is_multiple_of(2) {
        f64::midpoint(members[middle - 1].ns, members[middle].ns)
    } else {
        members[middle].ns
    }
}

#[cfg(test)]
mod tests {
    use model::{MatrixCell, NodeId, NodeMatrix};
    use proptest::prelude::*;

    use super::{classes_of_row, hop_classes};

    fn matrix_of(cells: Vec<MatrixCell>) -> NodeMatrix {
        let nodes = (0..cells.len() as u32).map(NodeId).collect();
        NodeMatrix::new(vec![NodeId(0)], nodes, vec![cells]).unwrap()
    }

    /// Classes in short: `0 | 1-2 | 3`.
    fn classes(cells: Vec<MatrixCell>) -> String {
        let found = hop_classes(&matrix_of(cells), None);
        let nodes: Vec<String> = found.iter().map(|c| c.memory_nodes.to_string()).collect();
        nodes.join(" | ")
    }

    fn check(row: &[f64], expected: &str) {
        let cells = row.iter().copied().map(MatrixCell::of).collect();
        assert_eq!(classes(cells), expected, "{row:?}");
    }

    #[test]
    fn published_rows_fall_into_their_hops() {
        // Article 002: four sockets, of which one is two hops away.
        check(&[53.0, 211.0, 217.0, 248.0], "0 | 1-2 | 3");
        // Two sockets in two sub-NUMA clusters each, and a memory-only node (Sapphire Rapids, CXL).
        check(&[107.5, 117.1, 200.7, 200.7, 279.4], "0 | 1 | 2-3 | 4");
        check(&[200.0, 200.1, 106.8, 115.8, 363.8], "2 | 3 | 0-1 | 4");
        // Two sockets.
        check(&[77.9, 143.2], "0 | 1");
        check(&[130.2, 231.2, 265.7], "0 | 1 | 2");
        // Memory interleaved over both sockets by the BIOS.
        check(&[106.9, 106.9], "0-1");
    }

    #[test]
    fn many_small_steps_do_not_join_near_and_far() {
        let row: Vec<f64> = (0..8).map(|step| 100.0 * 1.04f64.powi(step)).collect();
        let cells: Vec<MatrixCell> = row.iter().copied().map(MatrixCell::of).collect();
        let matrix = matrix_of(cells);
        let (_, cells) = matrix.rows().next().unwrap();
        for class in classes_of_row(&matrix, cells) {
            assert!(class[class.len() - 1].ns / class[0].ns <= 1.15);
        }
    }

    #[test]
    fn intervals_that_overlap_are_no_gap() {
        let cell = |value: f64, half: f64| MatrixCell {
            low: Some(value - half),
            high: Some(value + half),
            ..MatrixCell::of(value)
        };
        assert_eq!(classes(vec![cell(100.0, 1.0), cell(108.0, 1.0)]), "0 | 1");
        assert_eq!(classes(vec![cell(100.0, 5.0), cell(108.0, 5.0)]), "0-1");
        // Even where together they spread too far.
        assert_eq!(classes(vec![cell(100.0, 20.0), cell(130.0, 20.0)]), "0-1");
    }

    #[test]
    fn cells_without_a_figure_are_in_no_class() {
        let cells = vec![
            MatrixCell::of(80.0),
            MatrixCell::absent("no memory"),
            MatrixCell::of(f64::NAN),
            MatrixCell::of(0.0),
            MatrixCell::of(f64::INFINITY),
            MatrixCell {
                is_unsteady: true,
                ..MatrixCell::of(100.0)
            },
        ];
        assert_eq!(classes(cells), "0");
        assert_eq!(classes(Vec::new()), "");
    }

    proptest! {
        #[test]
        fn every_figure_is_in_one_class_and_classes_ascend(
            row in prop::collection::vec(prop::option::of(1e-3..1e6f64), 0..12),
        ) {
            let cells = row.iter().map(|ns| MatrixCell { value: *ns, ..MatrixCell::default() });
            let matrix = matrix_of(cells.collect());
            let found = hop_classes(&matrix, None);
            let members: usize = found.iter().map(|class| class.memory_nodes.len()).sum();
            prop_assert_eq!(members, row.iter().flatten().count());
            for pair in found.windows(2) {
                prop_assert!(pair[0].ns_max < pair[1].ns_min);
                prop_assert_eq!(pair[0].class + 1, pair[1].class);
            }
            for class in &found {
                prop_assert!(class.ns_min <= class.ns && class.ns <= class.ns_max);
            }
        }
    }
}
