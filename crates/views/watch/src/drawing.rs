//! Draws the view: the first line says what is looked at and when, the last which keys there are.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::figures;
use crate::machine_screen::{self, Room};
use crate::palette::Palette;
use crate::subjects::{Identity, Kind, Subject};
use crate::view::{Prompt, Screen, View};
use crate::visible::{Side, cell};
use crate::{answer_screen, ascii, detail_screen, help_screen, list_screen};

/// Columns below which the first line has no date.
const DATE_COLUMNS_MIN: usize = 60;

impl View {
    /// Draws the view on the whole screen.
    pub fn draw(&self, frame: &mut Frame) {
        let area = frame.area();
        let palette = self.room().palette;
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
            ..self.room()
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
        if self.options.is_ascii {
            ascii::convert(frame.buffer_mut());
        }
    }

    /// Between the first and the last line, by the size that the view was told.
    pub(crate) fn room(&self) -> Room {
        Room {
            width: self.size.0,
            height: self.size.1.saturating_sub(2),
            scroll: self.scroll,
            palette: Palette {
                has_colours: self.options.has_colours,
            },
        }
    }

    fn body(&self, room: Room) -> Vec<Line<'static>> {
        if self.has_help {
            let gaps = self.shown.as_ref().map(|it| &it.snapshot.gaps[..]);
            let lines = help_screen::lines(gaps.unwrap_or_default(), room.width);
            return scrolled(lines, room);
        }
        if let Some(answer) = &self.answer {
            return scrolled(answer_screen::lines(answer, room.width), room);
        }
        let Some(moment) = &self.shown else {
            return vec![Line::from("waiting for the first snapshot")];
        };
        if let Some(opened) = &self.opened {
            let lines = match self.find(opened) {
                Some(subject) => {
                    let is_replay = self.options.replay.is_some();
                    let sessions = self.sessions.as_ref();
                    let sessions = sessions.filter(|it| it.0 == subject.name).map(|it| &it.1);
                    detail_screen::lines(moment, &subject, (is_replay, sessions), room)
                }
                None => detail_screen::ended(room.width),
            };
            return scrolled(lines, room);
        }
        match self.screen {
            Screen::Machine => {
                let lines = machine_screen::lines(moment, room);
                lines.into_iter().map(|(line, _)| line).collect()
            }
            Screen::List(kind) => {
                let subjects = self.subjects(kind);
                let selected = self.selected_row(&subjects);
                list_screen::lines(
                    moment,
                    self.style(kind),
                    &subjects,
                    selected,
                    (room, self.top),
                )
            }
        }
    }

    pub(crate) fn find(&self, identity: &Identity) -> Option<Subject<'_>> {
        let mut all = Subject::all(self.shown.as_ref()?, identity.kind()).into_iter();
        all.find(|it| it.identity == *identity)
    }

    /// Returns state, time and target, the most important first.
    fn first_line(&self, width: usize) -> String {
        let mut words = Vec::new();
        // Who has gone back is not at the end.
        let ended = self.ended.as_ref().filter(|_| !self.is_behind());
        match (ended, self.is_paused) {
            (Some(reason), _) if reason.is_empty() => words.push("ENDED".to_owned()),
            (Some(reason), _) => words.push(format!("ENDED: {reason}")),
            (None, true) => words.push("PAUSED".to_owned()),
            (None, false) => {}
        }
        if let Some(recorded) = &self.options.replay {
            let (at, count) = (self.position(), recorded.taken_at_s.len());
            words.push(format!("replay {at}/{count} ×{}", self.speed()));
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
        let text = match (self.typing, &self.note) {
            (Some(Prompt::Filter), _) => {
                format!("filter: {}_  Enter keep  Esc clear", self.filter)
            }
            (Some(Prompt::Time), _) => {
                format!(
                    "time (UTC, or +90, -90): {}_  Enter go  Esc back",
                    self.time
                )
            }
            (None, Some(note)) => note.clone(),
            (None, None) => self.keys(),
        };
        cell(&format!(" {text}"), width, Side::Left)
    }

    /// Returns the keys that matter most here.
    fn keys(&self) -> String {
        let is_open = self.opened.is_some();
        let keys = match self.screen {
            _ if self.is_covered() => "Esc back  q quit  c copy  ? help",
            _ if is_open => "Esc back  q quit  i inspect  d doctor  p plan  c copy  ? help",
            _ if !self.filter.is_empty() => {
                return format!("filter: {}  Esc clear  / change  q quit", self.filter);
            }
            Screen::Machine => "q quit  ? help  Tab processes  Space pause  / filter  d doctor",
            Screen::List(_) => {
                "q quit  ? help  Tab next  Enter open  / filter  s sort  v tree  Space pause"
            }
        };
        keys.to_owned()
    }
}

/// Returns the lines from the scrolled one on; the last stays in sight.
fn scrolled(lines: Vec<Line<'static>>, room: Room) -> Vec<Line<'static>> {
    let last = lines.len().saturating_sub(room.height.max(1));
    lines.into_iter().skip(room.scroll.min(last)).collect()
}
