//! The screens of processes and of instances: one row each, the selected one marked.

use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use crate::machine_screen::Room;
use crate::moment::Moment;
use crate::process_table::ProcessTable;
use crate::subjects::{Kind, Subject};

/// Returns the lines of the screen: the headings and the rows around the one selected.
pub(crate) fn lines(
    moment: &Moment,
    kind: Kind,
    subjects: &[Subject],
    selected: usize,
    room: Room,
) -> Vec<Line<'static>> {
    let table = ProcessTable::new(kind, room.width);
    let mut lines = vec![Line::styled(table.heading(), room.palette.heading())];
    let rows = room.height.saturating_sub(1);
    let last_first = subjects.len().saturating_sub(rows);
    let first = selected.saturating_sub(rows / 2).min(last_first);
    for (index, subject) in subjects.iter().enumerate().skip(first).take(rows) {
        let text = table.row(&moment.snapshot, subject);
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
        lines.push(Line::from(nothing(kind)));
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
