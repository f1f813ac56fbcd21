//! Compares the two directions between nodes.

use model::{Finding, NodeMatrix, NodeSet, Severity};

use super::classes::Measured;
use super::figures;
use super::judge::{ASYMMETRIC, finding};

/// Directions differ from this share on; below, cells of one kind of CPU differ by the CPU chosen
/// (15 ns within one cell were seen on Granite Rapids).
const ASYMMETRY_SHARE: f64 = 0.10;

/// Adds one finding for each node whose way to others is not like the way back.
pub(crate) fn judge(matrix: &NodeMatrix, found: &mut Vec<Finding>) {
    for (from, cells) in matrix.rows() {
        let mut others = NodeSet::new();
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        let mut widest: Option<(f64, String)> = None;
        for (to, cell) in matrix.memory_nodes().iter().zip(cells) {
            let there = Measured::of(*to, cell).filter(|_| from < *to);
            let back = matrix
                .cell(*to, from)
                .and_then(|cell| Measured::of(from, cell));
            let (Some(there), Some(back)) = (there, back) else {
                continue;
            };
            let share = there.ns.max(back.ns) / there.ns.min(back.ns) - 1.0;
            let is_clear = there.high < back.low || back.high < there.low;
            if share < ASYMMETRY_SHARE || !is_clear {
                continue;
            }
            others.insert(*to);
            (low, high) = (low.min(share), high.max(share));
            if widest.as_ref().is_none_or(|(most, _)| share > *most) {
                let (there, back) = (figures::ns(there.ns), figures::ns(back.ns));
                widest = Some((
                    share,
                    format!("{there} from {from} to {to}, {back} from {to} to {from}"),
                ));
            }
        }
        let Some((_, example)) = widest else {
            continue;
        };
        let (others, share) = (figures::nodes(&others), figures::percent_range(low, high));
        found.push(finding(
            ASYMMETRIC,
            Severity::Warning,
            format!("the directions between node {from} and {others} differ by {share}: {example}"),
        ));
    }
}
