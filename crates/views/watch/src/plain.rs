//! The plain text of one snapshot, for scripts and logs.

use ratatui::text::Line;

use live::{History, Notices};
use model::Snapshot;

use crate::machine_screen::{self, Room};
use crate::moment::Moment;
use crate::palette::Palette;
use crate::process_table::{ProcessTable, Style};
use crate::subjects::{Kind, Sort, Subject, sort};
use crate::visible::wrapped;
use crate::{ascii, figures};

/// Returns the machine, instances and processes at the last of these snapshots, without colours, in
/// lines of at most `width` columns, in ASCII where that is wanted; `None` if there is no snapshot.
/// Rates are those since the one before, the forecast is that of all.
pub fn plain_text(
    snapshots: impl Iterator<Item = Snapshot>,
    width: usize,
    is_ascii: bool,
) -> Option<String> {
    let (mut history, mut notices) = (History::default(), Notices::default());
    let mut noticed = Vec::new();
    for snapshot in snapshots {
        history.push(snapshot);
        noticed = notices.update(&history);
    }
    let snapshot = history.latest()?;
    let moment = Moment::new(&history, history.forecast().sentence(), noticed);
    let palette = Palette { has_colours: false };
    let room = Room {
        width,
        height: usize::MAX,
        scroll: 0,
        palette,
    };
    let mut lines = vec![figures::moment(snapshot.taken_at_s)];
    let text = |line: Line| {
        line.spans
            .iter()
            .map(|it| it.content.as_ref())
            .collect::<String>()
    };
    let machine = machine_screen::without_processes(&moment, room);
    lines.extend(machine.into_iter().map(text));
    for (kind, title) in [
        (Kind::Instances, "Instances"),
        (Kind::Processes, "Processes"),
    ] {
        let mut subjects = Subject::all(&moment, kind);
        if subjects.is_empty() {
            continue;
        }
        sort(&mut subjects, Sort::Cpus);
        let table = ProcessTable::new(Style::busiest(kind), snapshot, width);
        lines.extend([String::new(), title.to_owned(), table.heading()]);
        lines.extend(subjects.iter().map(|it| table.row(snapshot, it)));
    }
    if !snapshot.gaps.is_empty() {
        lines.push(String::new());
        lines.extend(snapshot.gaps.iter().flat_map(|gap| wrapped(gap, width)));
    }
    let lines = lines.iter().map(|line| format!("{}\n", line.trim_end()));
    let text: String = lines.collect();
    Some(match is_ascii {
        true => ascii::converted(&text),
        false => text,
    })
}
