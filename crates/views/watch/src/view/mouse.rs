//! What the mouse does.

use super::{Screen, View};
use crate::input::{Key, Mouse, Request};
use crate::list_screen;
use crate::machine_screen;
use crate::process_table::ProcessTable;
use crate::subjects::Kind;

/// Rows of one turn of the wheel.
const WHEEL_ROWS: usize = 3;

impl View {
    pub(super) fn mouse(&mut self, mouse: Mouse) -> Request {
        let turn = |key| [key; WHEEL_ROWS];
        match mouse {
            Mouse::WheelUp => turn(Key::Up).into_iter().for_each(|key| self.go(key)),
            Mouse::WheelDown => turn(Key::Down).into_iter().for_each(|key| self.go(key)),
            Mouse::Click(x, y) => self.click(x.into(), y.into()),
        }
        Request::Nothing
    }

    /// Selects the row at this place, or opens it if it is selected; at a heading, sorts by it.
    fn click(&mut self, x: usize, y: usize) {
        // Below the first line.
        let Some(line) = y.checked_sub(1) else {
            return;
        };
        match (self.list(), self.screen) {
            (Some(kind), _) => self.click_list(kind, x, line),
            (None, Screen::Machine) if !self.is_covered() && self.opened.is_none() => {
                let moment = self.shown.as_ref();
                let lines = moment.map(|moment| machine_screen::lines(moment, self.room()));
                let mut clicked = lines.into_iter().flatten().skip(line);
                if let Some((_, Some(identity))) = clicked.next() {
                    self.reveal(identity);
                }
            }
            _ => {}
        }
    }

    fn click_list(&mut self, kind: Kind, x: usize, line: usize) {
        let Some(moment) = &self.shown else {
            return;
        };
        let Some(row) = line.checked_sub(1) else {
            let table = ProcessTable::new(self.style(kind), &moment.snapshot, self.size.0);
            self.sort = table.sort_at(x).unwrap_or(self.sort);
            return;
        };
        let subjects = self.subjects(kind);
        let selected = self.selected_row(&subjects);
        let room = self.room().height.saturating_sub(1);
        let mut window = list_screen::window(subjects.len(), selected, room, self.top);
        let Some(clicked) = window.nth(row) else {
            return;
        };
        match clicked == selected {
            true => self.reveal(subjects[clicked].identity.clone()),
            false => self.select(clicked),
        }
    }
}
