//! Draws the view: the first line says what is looked at and when, the last which keys there are.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::figures;
use crate::machine_screen::{self, Room};
use crate::palette::Palette;
use crate::subjects::{Identity, Kind, Subject};
use crate::view::{Screen, View};
use crate::visible::{Side, cell};
use crate::{detail_screen, help_screen, list_screen};

/// Columns below which the first line has no date.
const DATE_COLUMNS_MIN: usize = 60;

impl View {
    /// Draws the view on the whole screen.
    pub fn draw(&self, frame: &mut Frame) {
        let area = frame.area();
        let palette = Palette {
            has_colours: self.options.has_colours,
        };
        let mut draw = |line: Line, y: u16| {
            let row = Rect::new(area.x, area.y + y, area.width, 1).intersection(area);
            frame.render_widget(Paragraph::new(line), row);
        };
        let width = usize::from(area.width);
        if area.height > 0 {
            draw(Line::styled(self.first_line(width), palette.bar()), 0);
        }
        let room = Room {
            width,
            height: usize::from(area.height.saturating_sub(2)),
            scroll: self.scroll,
            palette,
        };
        for (line, y) in self.body(room).into_iter().take(room.height).zip(1..) {
            draw(line, y);
        }
        if area.height > 1 {
            draw(
                Line::styled(self.last_line(width), palette.bar()),
                area.height - 1,
            );
        }
    }

    fn body(&self, room: Room) -> Vec<Line<'static>> {
        if self.has_help {
            let gaps = self.shown.as_ref().map(|it| &it.snapshot.gaps[..]);
            let lines = help_screen::lines(gaps.unwrap_or_default(), room.width);
            return scrolled(lines, room);
        }
        let Some(moment) = &self.shown else {
            return vec![Line::from("waiting for the first snapshot")];
        };
        if let Some(opened) = &self.opened {
            let lines = match self.find(opened) {
                Some(subject) => {
                    let is_replay = self.options.replay_of.is_some();
                    detail_screen::lines(moment, &subject, is_replay, room)
                }
                None => detail_screen::ended(room.width),
            };
            return scrolled(lines, room);
        }
        match self.screen {
            Screen::Machine => machine_screen::lines(moment, room),
            Screen::List(kind) => {
                let subjects = self.subjects(kind);
                let selected = self.selected_row(&subjects);
                list_screen::lines(moment, kind, &subjects, selected, room)
            }
        }
    }

    fn find(&self, identity: &Identity) -> Option<Subject<'_>> {
        let kind = match identity {
            Identity::Process(..) => Kind::Processes,
            Identity::Instance(_) => Kind::Instances,
        };
        let mut all = Subject::all(self.shown.as_ref()?, kind).into_iter();
        all.find(|it| it.identity == *identity)
    }

    /// Returns state, time and target, the most important first.
    fn first_line(&self, width: usize) -> String {
        let mut words = Vec::new();
        match (&self.ended, self.is_paused) {
            (Some(reason), _) if reason.is_empty() => words.push("ENDED".to_owned()),
            (Some(reason), _) => words.push(format!("ENDED: {reason}")),
            (None, true) => words.push("PAUSED".to_owned()),
            (None, false) => {}
        }
        if let Some(count) = self.options.replay_of {
            words.push(format!(
                "replay {}/{count} ×{}",
                self.snapshots,
                self.speed()
            ));
        }
        words.push(match self.screen {
            Screen::Machine => "machine".to_owned(),
            Screen::List(Kind::Processes) => format!("processes by {}", self.sort.words()),
            Screen::List(Kind::Instances) => format!("instances by {}", self.sort.words()),
        });
        if let Some(moment) = &self.shown {
            let text = figures::moment(moment.snapshot.taken_at_s);
            // A narrow line has no room for the date.
            let date = text.find(' ').filter(|_| width < DATE_COLUMNS_MIN);
            words.push(text[date.map_or(0, |it| it + 1)..].to_owned());
        }
        if let Some(target) = &self.options.target {
            words.push(target.clone());
        }
        let gaps = self.shown.as_ref().map_or(0, |it| it.snapshot.gaps.len());
        if gaps > 0 {
            words.push(format!("{gaps} unknown: ?"));
        }
        cell(&format!(" {}", words.join(" | ")), width, Side::Left)
    }

    fn last_line(&self, width: usize) -> String {
        let keys = match (self.is_typing, self.opened.is_some() || self.has_help) {
            (true, _) => return self.filter_line(width),
            (false, true) => "Esc back  q quit  Space pause  ? help",
            (false, false) if !self.filter.is_empty() => return self.filter_line(width),
            (false, false) => match self.screen {
                Screen::Machine => "q quit  ? help  Tab processes  Space pause  / filter",
                Screen::List(_) => {
                    "q quit  ? help  Tab next  Enter open  / filter  s sort  Space pause"
                }
            },
        };
        cell(&format!(" {keys}"), width, Side::Left)
    }

    fn filter_line(&self, width: usize) -> String {
        let text = match self.is_typing {
            true => format!(" filter: {}_  Enter keep  Esc clear", self.filter),
            false => format!(" filter: {}  Esc clear  / change  q quit", self.filter),
        };
        cell(&text, width, Side::Left)
    }
}

/// Returns the lines from the scrolled one on; the last stays in sight.
fn scrolled(lines: Vec<Line<'static>>, room: Room) -> Vec<Line<'static>> {
    let last = lines.len().saturating_sub(room.height.max(1));
    lines.into_iter().skip(room.scroll.min(last)).collect()
}
