//! First touches of a segment in a grid of time and offset.

use std::collections::BTreeMap;

use model::{BytesByNode, TouchCell, TouchPicture};

use crate::segments::Segment;
use crate::tracker::Tracker;

/// Size of the grid: enough for a page, and a multiple of what fits a terminal.
const COLUMNS: u32 = 128;
const ROWS: u32 = 48;

const MS_PER_S: f64 = 1000.0;

/// The picture of a segment; `None` when no first touch was seen, or no node is known.
pub(crate) fn of(tracker: &Tracker, index: usize, segment: &Segment) -> Option<TouchPicture> {
    let times = || tracker.pages.of_segment(index).map(|(_, it)| it.time_ms);
    let (first_ms, last_ms) = (times().min()?, times().max()?);
    let pages = segment.mapped_bytes.div_ceil(segment.page_bytes).max(1);
    let span = u64::from(last_ms - first_ms) + 1;
    let mut cells: BTreeMap<(u32, u32), BytesByNode> = BTreeMap::new();
    for (page, record) in tracker.pages.of_segment(index) {
        let Some(node) = tracker.touches[record.toucher as usize].id.node else {
            continue;
        };
        let row = share(u64::from(record.time_ms - first_ms), span, ROWS);
        let column = share(page.min(pages - 1), pages, COLUMNS);
        *cells
            .entry((row, column))
            .or_default()
            .entry(node)
            .or_default() += segment.page_bytes;
    }
    let cells = cells.into_iter();
    Some(TouchPicture {
        columns: COLUMNS,
        rows: ROWS,
        first_s: f64::from(first_ms) / MS_PER_S,
        last_s: f64::from(last_ms) / MS_PER_S,
        cells: cells
            .map(|((row, column), bytes_by_cpu_node)| TouchCell {
                column,
                row,
                bytes_by_cpu_node,
            })
            .collect(),
    })
}

/// Which of `parts` equal parts of `of` things thing `index` is in.
fn share(index: u64, of: u64, parts: u32) -> u32 {
    (u128::from(index) * u128::from(parts) / u128::from(of)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_thing_is_in_a_part_and_in_order(of in 1_u64.., one: u64, other: u64) {
            let (one, other) = (one % of, other % of);
            prop_assert!(share(one, of, ROWS) < ROWS);
            prop_assert!(one > other || share(one, of, ROWS) <= share(other, of, ROWS));
        }
    }
}
