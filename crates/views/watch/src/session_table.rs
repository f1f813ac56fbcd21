//! The sessions of a PostgreSQL, by what the server and the kernel say of them.

use model::{ProcessSnapshot, ServerSession};
use ratatui::text::Line;

use crate::columns::{Column, Layout};
use crate::figures;
use crate::machine_screen::Room;
use crate::moment::Moment;
use crate::subjects::Subject;
use crate::visible::wrapped;

const COLUMNS: [Column; 9] = [
    Column::number("SESSION", 7, 0),
    Column::words("USER", 8, 1),
    Column::words("DATABASE", 8, 1),
    Column::words("APPLICATION", 11, 5),
    Column::words("STATE", 8, 2),
    Column::number("FOR", 6, 4),
    Column::number("CPUs", 5, 0),
    Column::words("WAIT", 12, 6),
    Column::words("QUERY", 16, 3),
];
/// What is left over goes to these columns.
const FLEXIBLE: [(usize, usize); 6] = [(8, 40), (4, 19), (1, 16), (2, 16), (7, 24), (8, 200)];

/// Returns the table: the sessions that are processes of this instance, those first that use most
/// CPU time; or why there is none.
pub(crate) fn lines(
    moment: &Moment,
    subject: &Subject,
    sessions: &Result<Vec<ServerSession>, String>,
    room: Room,
) -> Vec<Line<'static>> {
    let sessions = match sessions {
        Ok(sessions) => sessions,
        Err(why) => {
            let why = format!("Sessions: unknown ({why}).");
            return wrapped(&why, room.width)
                .into_iter()
                .map(Line::from)
                .collect();
        }
    };
    let process = |session: &ServerSession| {
        let found = |it: &&&ProcessSnapshot| it.pid == session.pid;
        subject.processes.iter().find(found).copied()
    };
    let sessions = sessions.iter();
    let mut rows: Vec<(Option<f64>, &ServerSession)> = sessions
        .filter_map(|it| Some((moment.cpus_of(process(it)?), it)))
        .collect();
    if rows.is_empty() {
        return vec![Line::from("No sessions.")];
    }
    // The server's order stays among equals.
    let used = |it: &(Option<f64>, &ServerSession)| it.0.unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|a, b| used(b).total_cmp(&used(a)));
    let layout = Layout::new(&COLUMNS, room.width, &FLEXIBLE);
    let row = |(cpus, it): &(Option<f64>, &ServerSession)| {
        layout.row(|index| match index {
            0 => it.pid.to_string(),
            1 => it.user.clone(),
            2 => it.database.clone(),
            3 => it.application.clone(),
            4 => it.state.clone(),
            5 => it.state_s.map_or_else(String::new, figures::span),
            6 => figures::cpus(*cpus),
            7 => it.wait.clone().unwrap_or_default(),
            // A statement has line breaks, which say nothing here.
            _ => it.query.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    };
    let heading = Line::styled(layout.heading(), room.palette.heading());
    let rows = rows.iter().map(|it| Line::from(row(it)));
    std::iter::once(heading).chain(rows).collect()
}
