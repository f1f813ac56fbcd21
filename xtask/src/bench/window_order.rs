//! The order of the windows of two alternating cases, and the rates of windows after one of the
//! other case and after one of the same case.
//!
//! A block has one window of each case, in random order, so two windows of one case are adjacent if
//! it was last in a block and first in the next.

/// Start times of windows, in seconds from the first one of the case, and their rates.
#[derive(Debug, Clone, Default)]
pub(super) struct Windows {
    /// Start times in seconds.
    pub at_s: Vec<f64>,
    /// Work per second; `None` if the window is left out.
    pub rates: Vec<Option<f64>>,
}

/// Mean rates of the windows of a case in one round: of those after a window of the other case, and
/// of those after one of its own; `None` if there are none.
pub(super) type Means = (Option<f64>, Option<f64>);

/// Returns the mean rates of both cases in a round; `None` if the order is unknown: the cases never
/// changed places, or their numbers of windows differ.
pub(super) fn means(one: &Windows, other: &Windows) -> Option<[Means; 2]> {
    let is_first = order(&one.at_s, &other.at_s)?;
    let other_is_first: Vec<bool> = is_first.iter().map(|first| !first).collect();
    Some([
        of_case(&one.rates, &is_first),
        of_case(&other.rates, &other_is_first),
    ])
}

/// Returns for each block whether the window of the first case came first.
fn order(one: &[f64], other: &[f64]) -> Option<Vec<bool>> {
    let blocks = one.len();
    if blocks < 2 || other.len() != blocks {
        return None;
    }
    // From the first to the last block both cases advance equally, except for their places in these
    // blocks, which are opposite and cancel out.
    let slot_s = (one[blocks - 1] + other[blocks - 1]) / (4 * (blocks - 1)) as f64;
    let shift = |at_s: &f64, block: usize| (at_s / slot_s).round() as i64 - 2 * block as i64;
    let shifts: Vec<i64> = one
        .iter()
        .zip(0..)
        .map(|(at_s, block)| shift(at_s, block))
        .collect();
    let mirrored = other
        .iter()
        .zip(0..)
        .map(|(at_s, block)| -shift(at_s, block));
    if !mirrored.eq(shifts.iter().copied()) {
        return None;
    }
    // A case that moved back was first in the first block.
    let moved = *shifts.iter().find(|shift| **shift != 0)?;
    let first_in_first = moved == 1;
    let is_known = shifts.iter().all(|shift| *shift == 0 || *shift == moved);
    is_known.then(|| {
        let moved = shifts.iter().map(|shift| *shift != 0);
        moved.map(|moved| moved != first_in_first).collect()
    })
}

fn of_case(rates: &[Option<f64>], is_first: &[bool]) -> Means {
    let (mut after_other, mut after_own) = (Vec::new(), Vec::new());
    for block in 1..is_first.len().min(rates.len()) {
        let follows_own = is_first[block] && !is_first[block - 1];
        let group = match follows_own {
            true => &mut after_own,
            false => &mut after_other,
        };
        group.extend(rates[block]);
    }
    let mean = |rates: &[f64]| -> Option<f64> {
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    };
    (mean(&after_other), mean(&after_own))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the windows of both cases if the first one is first in these blocks.
    fn windows(is_first: &[bool]) -> [Windows; 2] {
        let starts = |first: fn(bool) -> bool| -> Vec<f64> {
            let place = |(block, it): (usize, &bool)| 2 * block + usize::from(!first(*it));
            let slots: Vec<usize> = is_first.iter().enumerate().map(place).collect();
            // Windows are never exactly equally long.
            let noise = |slot: usize| 0.115 * (slot - slots[0]) as f64 + 0.003 * (slot % 3) as f64;
            slots.iter().map(|slot| noise(*slot)).collect()
        };
        [starts(|it| it), starts(|it| !it)].map(|at_s| {
            let rates = (0..at_s.len()).map(|window| Some(window as f64)).collect();
            Windows { at_s, rates }
        })
    }

    #[test]
    fn the_order_follows_from_the_starts() {
        for pattern in 1..127_u32 {
            let is_first: Vec<bool> = (0..7).map(|block| pattern >> block & 1 == 1).collect();
            let [one, other] = windows(&is_first);
            assert_eq!(
                order(&one.at_s, &other.at_s),
                Some(is_first.clone()),
                "{is_first:?}"
            );
        }
        let [one, other] = windows(&[true; 7]);
        assert_eq!(order(&one.at_s, &other.at_s), None);
        assert_eq!(order(&one.at_s, &other.at_s[1..]), None);
    }

    #[test]
    fn windows_are_sorted_by_what_came_before() {
        // One Other, Other One, One Other: the second of Other and the third of One follow their
        // own.
        let [one, other] = windows(&[true, false, true]);
        let found = means(&one, &other).unwrap();
        assert_eq!(found[0], (Some(1.0), Some(2.0)));
        assert_eq!(found[1], (Some(2.0), Some(1.0)));
    }
}
