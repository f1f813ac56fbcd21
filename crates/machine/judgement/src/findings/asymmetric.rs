//! The two directions between two nodes measure differently.

use model::Severity;

use super::row::{Check, Row};
use crate::found::Found;
use crate::hops::pairs::{Pairs, Range};
use crate::hops::{Measured, figures};
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "asymmetric",
    severity: Severity::Warning,
    about: "latency between two nodes depends on the direction",
    cost: "an access one way is slower than the same access back",
    cost_source: "the figures of the matrix",
    checks: &[Check::Latency(check)],
};

/// Directions that differ by this share or more are reported. Smaller differences occur between
/// CPUs of one kind (15 ns within one cell were seen on Granite Rapids).
const ASYMMETRY_SHARE: f64 = 0.10;

fn check(input: &LatencyInput<'_>) -> Vec<Found> {
    let matrix = input.matrix;
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
        return Vec::new();
    };
    let most = match pairs.iter().count() {
        1 => "",
        _ => ", most",
    };
    vec![Found::that(format!(
        "the two directions {} differ by {}{most}: {widest}",
        pairs.mutual(),
        shares.percent()
    ))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hops::samples::matrix;

    #[test]
    fn directions_that_differ_by_a_tenth_are_found() {
        let check = |back, expected: bool| {
            let matrix = matrix(&[&[80.0, 140.0], &[back, 80.0]]);
            let found = check(&LatencyInput::new(&matrix, None, &[], &[]));
            assert_eq!(!found.is_empty(), expected, "{back}");
        };
        check(140.0, false);
        check(153.0, false);
        check(155.0, true);
    }
}
