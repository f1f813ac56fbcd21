//! Compares the two directions between nodes.

use model::{Finding, NodeMatrix, Severity};

use super::classes::Measured;
use super::figures;
use super::findings::{ASYMMETRIC, finding};
use super::pairs::{Pairs, Range};

/// Directions that differ by this share or more are reported. Smaller differences occur between
/// CPUs of one kind (15 ns within one cell were seen on Granite Rapids).
const ASYMMETRY_SHARE: f64 = 0.10;

/// Adds one finding for all pairs whose two directions differ.
pub(crate) fn judge(matrix: &NodeMatrix, found: &mut Vec<Finding>) {
    let (mut pairs, mut shares) = (Pairs::default(), Range::default());
    let mut widest: Option<(f64, String)> = None;
    for (from, cells) in matrix.rows() {
        for (to, cell) in matrix.memory_nodes().iter().zip(cells) {
            let there = Measured::of(*to, cell).filter(|_| from < *to);
            let back = matrix
                .cell(*to, from)
                .and_then(|cell| Measured::of(from, cell));
            let (Some(there), Some(back)) = (there, back) else {
                continue;
            };
            let share = there.ns.max(back.ns) / there.ns.min(back.ns) - 1.0;
            if share < ASYMMETRY_SHARE || there.overlaps(&back) {
                continue;
            }
            pairs.insert(from, *to);
            shares.add(share);
            if widest.as_ref().is_none_or(|(most, _)| share > *most) {
                let (there, back) = (figures::ns(there.ns), figures::ns(back.ns));
                widest = Some((
                    share,
                    format!("{there} from {from} to {to}, {back} from {to} to {from}"),
                ));
            }
        }
    }
    let Some((_, widest)) = widest else {
        return;
    };
    let most = match pairs.iter().count() {
        1 => "",
        _ => ", most",
    };
    found.push(finding(
        ASYMMETRIC,
        Severity::Warning,
        format!(
            "the two directions {} differ by {}{most}: {widest}",
            pairs.mutual(),
            shares.percent()
        ),
    ));
}
