//! The plain text of one snapshot, for scripts and logs.

use ratatui::text::Line;

use live::{History, Notices};
use model::Snapshot;

use crate::figures;
use crate::machine_screen::{self, Room};
use crate::moment::Moment;
use crate::palette::Palette;
use crate::process_table::ProcessTable;
use crate::subjects::{Kind, Sort, Subject, sort};

/// Returns the machine, instances and processes at one moment, without colours, in lines of at most
/// `width` columns. Rates are those since the snapshot `before`; without it they are unknown.
pub fn plain_text(before: Option<&Snapshot>, snapshot: &Snapshot, width: usize) -> String {
    let mut history = History::default();
    for snapshot in before.into_iter().chain([snapshot]) {
        history.push(snapshot.clone());
    }
    let notices = Notices::default().update(&history);
    let moment = Moment::new(&history, None, notices);
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
        let table = ProcessTable::new(kind, width);
        lines.extend([String::new(), title.to_owned(), table.heading()]);
        lines.extend(subjects.iter().map(|it| table.row(snapshot, it)));
    }
    lines.extend(snapshot.gaps.iter().map(|gap| format!("Unknown: {gap}")));
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}
