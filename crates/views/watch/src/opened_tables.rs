//! The tables of what is open: segments, and threads.

use model::{OpenedSnapshot, SegmentSnapshot, ThreadSnapshot};
use ratatui::text::Line;

use crate::columns::{Column, Layout};
use crate::figures;
use crate::machine_screen::Room;
use crate::moment::Moment;
use crate::subjects::{Identity, node_of, shares, total};

const SEGMENTS: [Column; 3] = [
    Column::words("SEGMENT", 20, 0),
    Column::number("MEMORY", 8, 0),
    Column::words("MEMORY BY NODE", 16, 0),
];
const THREADS: [Column; 4] = [
    Column::number("THREAD", 7, 0),
    Column::words("NAME", 15, 0),
    Column::number("CPUs", 5, 0),
    Column::words("CPU/NODE", 8, 1),
];
/// Columns beyond which a name, or a list of nodes, is not more readable.
const WORDS_MAX: usize = 60;

/// Returns the tables; a sentence where the snapshot does not have them.
pub(crate) fn lines(
    moment: &Moment,
    of: &Identity,
    is_replay: bool,
    room: Room,
) -> Vec<Line<'static>> {
    let opened = moment.snapshot.opened.as_ref();
    let Some(opened) = opened.filter(|it| it.subject == of.subject()) else {
        let why = match is_replay {
            true => "Segments and threads: not recorded (only what was open is).",
            false => "Segments and threads follow with the next snapshot.",
        };
        return vec![Line::from(why)];
    };
    let mut lines = segments(opened, room);
    if matches!(of, Identity::Process(..)) {
        lines.push(Line::default());
        lines.extend(threads(moment, opened, room));
    }
    lines
}

fn segments(opened: &OpenedSnapshot, room: Room) -> Vec<Line<'static>> {
    let Some(segments) = &opened.segments else {
        return vec![Line::from("Segments: unknown, nobody has looked yet.")];
    };
    let layout = Layout::new(&SEGMENTS, room.width, &[(2, WORDS_MAX / 2), (0, WORDS_MAX)]);
    let mut lines = vec![Line::styled(layout.heading(), room.palette.heading())];
    let row = |it: &SegmentSnapshot| {
        layout.row(|index| match index {
            0 => it.name.clone().unwrap_or("private memory".to_owned()),
            1 => figures::bytes(Some(total(&it.bytes_by_node))),
            _ => shares(&it.bytes_by_node),
        })
    };
    lines.extend(segments.iter().map(|it| Line::from(row(it))));
    lines.extend(more(opened.segments_left_out, "smaller segments"));
    lines
}

fn threads(moment: &Moment, opened: &OpenedSnapshot, room: Room) -> Vec<Line<'static>> {
    let layout = Layout::new(&THREADS, room.width, &[]);
    let mut lines = vec![Line::styled(layout.heading(), room.palette.heading())];
    let threads = opened.threads.iter();
    let mut threads: Vec<(Option<f64>, &ThreadSnapshot)> =
        threads.map(|it| (moment.cpus_of_thread(it), it)).collect();
    let used = |it: &(Option<f64>, &ThreadSnapshot)| it.0.unwrap_or(f64::NEG_INFINITY);
    threads.sort_by(|a, b| used(b).total_cmp(&used(a)).then(a.1.tid.cmp(&b.1.tid)));
    let row = |(cpus, it): &(Option<f64>, &ThreadSnapshot)| {
        layout.row(|index| match index {
            0 => it.tid.to_string(),
            1 => it.name.clone(),
            2 => figures::cpus(*cpus),
            _ => place(moment, it),
        })
    };
    lines.extend(threads.iter().map(|it| Line::from(row(it))));
    lines.extend(more(opened.threads_left_out, "more threads"));
    lines
}

/// Returns the CPU on which a thread last ran, and its node, such as `12/0`.
fn place(moment: &Moment, thread: &ThreadSnapshot) -> String {
    let Some(cpu) = thread.last_cpu else {
        return figures::UNKNOWN.to_owned();
    };
    let node = node_of(&moment.snapshot, cpu);
    let node = node.map_or(figures::UNKNOWN.to_owned(), |it| it.to_string());
    format!("{cpu}/{node}")
}

fn more(count: u64, what: &str) -> Option<Line<'static>> {
    (count > 0).then(|| Line::from(format!("and {count} {what}")))
}
