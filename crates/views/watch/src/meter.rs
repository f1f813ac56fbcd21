//! The last minute as a line of blocks.

use live::Minute;

/// From nothing, or little, to all.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws shares of the last minute in `columns` of equal time, of which the last is now; each is
/// the mean of its points. A point holds for the time since the one before; what was before the
/// first is blank.
pub(crate) fn meter(points: &[(f64, f64)], columns: usize) -> String {
    let mut sums = vec![(0.0, 0_u32); columns];
    for (ago, share) in points {
        let back = (ago / Minute::SECONDS * columns as f64).floor();
        // The first point of a minute is a whole minute old.
        let back = (back.max(0.0) as usize).min(columns.saturating_sub(1));
        if let Some((sum, count)) = sums.iter_mut().rev().nth(back) {
            *sum += share;
            *count += 1;
        }
    }
    let first = sums.iter().position(|(_, count)| *count > 0);
    let mut holds = None;
    let mut blocks: Vec<char> = sums
        .iter()
        .enumerate()
        .rev()
        .map(|(at, (sum, count))| {
            if *count > 0 {
                holds = Some(block(sum / f64::from(*count)));
            }
            holds
                .filter(|_| first.is_some_and(|first| first <= at))
                .unwrap_or(' ')
        })
        .collect();
    blocks.reverse();
    blocks.into_iter().collect()
}

fn block(share: f64) -> char {
    let level = (share * BLOCKS.len() as f64).ceil();
    BLOCKS[(level as usize).clamp(1, BLOCKS.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_column_is_now_and_each_is_a_mean() {
        let check = |points: &[(f64, f64)], expected| assert_eq!(meter(points, 6), expected);
        check(&[], "      ");
        check(&[(0.0, 0.0)], "     ▁");
        check(&[(19.0, 1.0), (11.0, 0.0), (0.0, 0.6)], "    ▄▅");
        check(&[(60.0, 1.0), (30.0, 0.5), (0.0, 0.1)], "█▄▄▁▁▁");
    }

    proptest! {
        #[test]
        fn any_points_fill_the_columns(
            points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..9),
            columns in 0..70_usize,
        ) {
            prop_assert_eq!(meter(&points, columns).chars().count(), columns);
        }
    }
}
