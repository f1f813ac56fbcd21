//! The screen of the machine: first what needs attention, then pressure and migrations,
//! then a row for each node, then the busiest processes if there is room.

use model::counted;
use ratatui::text::Line;

use crate::figures;
use crate::meter::meter;
use crate::moment::Moment;
use crate::node_table::NodeTable;
use crate::palette::Palette;
use crate::process_table::{ProcessTable, Style};
use crate::subjects::{Identity, Kind, Sort, Subject, sort};
use crate::visible::{cut, wrapped};

/// Rows that are worth a table of databases or processes.
const ROWS_MIN: usize = 3;
/// Databases beside processes: the others are in their list.
const DATABASES_MAX: usize = 4;

/// Columns below which the lines on the machine are shorter.
const SENTENCES_MIN: usize = 75;

/// Columns of the last minute of faults.
const FAULTS_METER: usize = 10;

/// Where the screen is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Rows that were scrolled away.
    pub(crate) scroll: usize,
    pub(crate) palette: Palette,
}

/// Returns the lines of the screen, at most as many as there is room for, and which row each is.
pub(crate) fn lines(moment: &Moment, room: Room) -> Vec<(Line<'static>, Option<Identity>)> {
    let lines = without_processes(moment, room).into_iter();
    let mut lines: Vec<_> = lines.map(|line| (line, None)).collect();
    for (kind, rows_max) in [
        (Kind::Instances, DATABASES_MAX),
        (Kind::Processes, usize::MAX),
    ] {
        // An empty line and the headings.
        let rows = room.height.saturating_sub(lines.len() + 2);
        if rows >= ROWS_MIN {
            lines.extend(busiest(moment, kind, room, rows.min(rows_max)));
        }
    }
    lines.truncate(room.height);
    lines
}

/// Returns the lines of the screen without the processes.
pub(crate) fn without_processes(moment: &Moment, room: Room) -> Vec<Line<'static>> {
    let mut lines = attention(moment, room);
    lines.truncate((room.height / 3).max(1));
    lines.extend(machine(moment, room.width).into_iter().map(Line::from));
    let table = NodeTable::new(room.width);
    lines.push(Line::styled(table.heading(), room.palette.heading()));
    let left = room.height.saturating_sub(lines.len());
    let nodes = &moment.snapshot.nodes;
    let first = room.scroll.min(nodes.len().saturating_sub(left.max(1)));
    let shown = nodes.iter().skip(first).take(left);
    lines.extend(shown.map(|node| Line::from(table.row(moment, node))));
    lines
}

/// Returns the sentences that come first: the forecast and notices.
fn attention(moment: &Moment, room: Room) -> Vec<Line<'static>> {
    let forecast = moment.forecast.iter();
    let forecast = forecast.map(|it| (it.clone(), room.palette.error()));
    let notices = moment.notices.iter().map(|it| {
        let since_s = moment.snapshot.uptime_s - it.since_s;
        let text = format!("{} (for {})", it.sentence, figures::span(since_s));
        (text, room.palette.warning())
    });
    let mut lines = Vec::new();
    for (sentence, style) in forecast.chain(notices) {
        for (index, text) in wrapped(&sentence, room.width.saturating_sub(2))
            .into_iter()
            .enumerate()
        {
            let mark = if index == 0 { "! " } else { "  " };
            lines.push(Line::styled(format!("{mark}{text}"), style));
        }
    }
    if lines.is_empty() {
        let calm = "No notices.";
        lines.extend(wrapped(calm, room.width).into_iter().map(Line::from));
    }
    lines
}

/// Returns the lines on the whole machine.
fn machine(moment: &Moment, width: usize) -> Vec<String> {
    let pressure = &moment.snapshot.pressure;
    let (cpu, some, full) = (
        figures::share(pressure.cpu_some),
        figures::share(pressure.memory_some),
        figures::share(pressure.memory_full),
    );
    let rates = &moment.change;
    let migrated = figures::rate(rates.pages_migrated_per_s);
    let (pressure, migrations) = match width < SENTENCES_MIN {
        true => (
            format!("Waiting: CPU {cpu}, memory {some}"),
            format!("Migrated: {migrated} pages/s"),
        ),
        false => (
            format!(
                "Waiting, last 10 s: CPU {cpu}, memory {some} (all tasks {full}). Steal: {}",
                counted(figures::cpus(rates.cpus_stolen), "CPU")
            ),
            format!(
                "Migrated: {migrated} pages/s (balancing {}). Hint faults: {}/s, local {} {}",
                figures::rate(rates.numa_pages_migrated_per_s),
                figures::rate(rates.numa_hint_faults_per_s),
                figures::share(moment.hint_faults_local()),
                meter(&moment.minute.faults_local, FAULTS_METER),
            ),
        ),
    };
    vec![cut(&pressure, width), cut(&migrations, width)]
}

/// Returns the busiest databases or processes, if there are any, below an empty line.
fn busiest(
    moment: &Moment,
    kind: Kind,
    room: Room,
    rows: usize,
) -> Vec<(Line<'static>, Option<Identity>)> {
    let mut subjects = Subject::all(moment, kind);
    if subjects.is_empty() {
        return Vec::new();
    }
    sort(&mut subjects, Sort::Cpus);
    let table = ProcessTable::new(Style::busiest(kind), &moment.snapshot, room.width);
    let heading = Line::styled(table.heading(), room.palette.heading());
    let rows = subjects.into_iter().take(rows);
    let row = |it: Subject| {
        (
            Line::from(table.row(&moment.snapshot, &it)),
            Some(it.identity),
        )
    };
    let above = [(Line::default(), None), (heading, None)];
    above.into_iter().chain(rows.map(row)).collect()
}
