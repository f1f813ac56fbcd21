//! The screens of processes and of instances: one row each, the selected one marked.

use std::ops::Range;

use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use crate::machine_screen::Room;
use crate::moment::Moment;
use crate::process_table::{self as table, ProcessTable};
use crate::subjects::{Kind, Subject};

/// Returns the rows of a list of `count` that `room` has lines for: from `top` on, or else those
/// next to them with the one selected.
pub(crate) fn window(count: usize, selected: usize, room: usize, top: usize) -> Range<usize> {
    let last = (selected + 1).saturating_sub(room);
    let first = top
        .min(count.saturating_sub(room))
        .clamp(last, selected.max(last));
    first..count.min(first + room)
}

/// Returns the lines of the screen: the headings and the rows around the one selected.
pub(crate) fn lines(
    moment: &Moment,
    style: table::Style,
    subjects: &[Subject],
    selected: usize,
    (room, top): (Room, usize),
) -> Vec<Line<'static>> {
    let table = ProcessTable::new(style, &moment.snapshot, room.width);
    let mut lines = vec![Line::styled(table.heading(), room.palette.heading())];
    for index in window(subjects.len(), selected, room.height.saturating_sub(1), top) {
        let text = table.row(&moment.snapshot, &subjects[index]);
        let style = match index == selected {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        lines.push(Line::styled(
            format!("{text:<width$}", width = room.width),
            style,
        ));
    }
    if subjects.is_empty() {
        lines.push(Line::from(nothing(style.kind)));
    }
    lines.truncate(room.height);
    lines
}

/// Returns what stands in an empty list.
fn nothing(kind: Kind) -> &'static str {
    match kind {
        Kind::Processes => "no process (Esc clears the filter)",
        Kind::Instances => "no database found (Tab: processes)",
    }
}

#[cfg(test)]
mod tests {
    use super::window;
    use proptest::prelude::*;

    #[test]
    fn the_window_moves_only_as_far_as_it_must() {
        assert_eq!(window(10, 0, 4, 0), 0..4);
        assert_eq!(window(10, 3, 4, 0), 0..4);
        assert_eq!(window(10, 4, 4, 0), 1..5);
        assert_eq!(window(10, 2, 4, 5), 2..6);
        assert_eq!(window(10, 9, 4, 6), 6..10);
        assert_eq!(window(3, 2, 4, 9), 0..3);
    }

    proptest! {
        #[test]
        fn the_selected_row_is_always_seen(
            count in 1..50_usize,
            selected in 0..50_usize,
            room in 1..20_usize,
            top in 0..60_usize,
        ) {
            let selected = selected % count;
            let window = window(count, selected, room, top);
            prop_assert!(window.contains(&selected) && window.end <= count);
            prop_assert_eq!(window.len(), room.min(count));
        }
    }
}
