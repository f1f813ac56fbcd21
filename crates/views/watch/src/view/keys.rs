//! What keys do.

use super::{Prompt, Screen, View};
use crate::actions::{self, Action, Answer};
use crate::input::{Key, Request};
use crate::list_screen;
use crate::subjects::{Identity, Kind};

/// Speeds of a replay.
const SPEED_MIN: f64 = 0.125;
const SPEED_MAX: f64 = 1024.0;
/// More lines than help and the sentences of a screen have.
const HELP_LINES_MAX: usize = 80;
/// Characters of a filter or a time.
const TYPED_MAX: usize = 64;
/// The first word of a plan in what `numalab doctor` says.
const PLAN: &str = "plan:";

impl View {
    pub(super) fn key(&mut self, key: Key) -> Request {
        if key == Key::Interrupt {
            return Request::Quit;
        }
        self.note = None;
        if let Some(prompt) = self.typing {
            return self.type_in(prompt, key);
        }
        let is_replay = self.options.replay.is_some();
        match key {
            Key::Character('q') => return Request::Quit,
            Key::Escape => return self.back(),
            Key::Left if is_replay => return self.step_back(),
            Key::Right if is_replay && self.is_paused => return self.step(),
            Key::Character('[') if is_replay => return self.seek_event_before(),
            Key::Character(']') if is_replay => return self.seek_event_after(),
            Key::Character('t') if is_replay => self.typing = Some(Prompt::Time),
            Key::Left | Key::Right | Key::Character('[' | ']' | 't') => {
                self.note = Some("that key is for replays; Right for paused ones".to_owned());
            }
            Key::Character('?') => self.toggle_help(),
            Key::Character(' ') => self.pause(),
            Key::Character('+' | '=') => self.speed = (self.speed * 2.0).min(SPEED_MAX),
            Key::Character('-') => self.speed = (self.speed / 2.0).max(SPEED_MIN),
            Key::Tab => self.show(self.next_screen()),
            Key::Character('1') => self.show(Screen::Machine),
            Key::Character('2') => self.show(Screen::List(Kind::Processes)),
            Key::Character('3') => self.show(Screen::List(Kind::Instances)),
            Key::Character('s') => self.sort = self.sort.next(),
            Key::Character('v') => self.is_tree = !self.is_tree,
            Key::Character('/') => self.begin_filter(),
            Key::Character('c') => return self.copy(),
            Key::Enter => self.open(),
            Key::Character(character) => match Action::of(character) {
                Some(action) => return self.ask(action),
                None => self.go(key),
            },
            _ => self.go(key),
        }
        Request::Nothing
    }

    fn type_in(&mut self, prompt: Prompt, key: Key) -> Request {
        let text = match prompt {
            Prompt::Filter => &mut self.filter,
            Prompt::Time => &mut self.time,
        };
        match key {
            Key::Enter => {
                self.typing = None;
                if prompt == Prompt::Time {
                    return self.seek_time();
                }
            }
            Key::Escape => {
                self.typing = None;
                text.clear();
            }
            Key::Backspace => {
                text.pop();
            }
            Key::Character(character) if text.chars().count() < TYPED_MAX => text.push(character),
            _ => self.go(key),
        }
        Request::Nothing
    }

    /// Leaves what was opened last; at the bottom, the program.
    fn back(&mut self) -> Request {
        if self.has_help {
            self.toggle_help();
        } else if self.answer.take().is_some() || self.opened.take().is_some() {
            self.scroll = 0;
        } else if !self.filter.is_empty() {
            self.filter.clear();
        } else {
            return Request::Quit;
        }
        Request::Nothing
    }

    fn toggle_help(&mut self) {
        self.has_help = !self.has_help;
        self.scroll = 0;
    }

    fn pause(&mut self) {
        self.is_paused = !self.is_paused;
        if let Some(newest) = self.newest.take() {
            self.shown = Some(newest);
        }
    }

    fn next_screen(&self) -> Screen {
        match self.screen {
            Screen::Machine => Screen::List(Kind::Processes),
            Screen::List(Kind::Processes) => Screen::List(Kind::Instances),
            Screen::List(Kind::Instances) => Screen::Machine,
        }
    }

    fn show(&mut self, screen: Screen) {
        self.screen = screen;
        self.opened = None;
        self.answer = None;
        self.has_help = false;
        self.scroll = 0;
    }

    fn begin_filter(&mut self) {
        if self.list().is_none() {
            let kind = match self.screen {
                Screen::List(kind) => kind,
                Screen::Machine => Kind::Processes,
            };
            self.show(Screen::List(kind));
        }
        self.typing = Some(Prompt::Filter);
    }

    fn open(&mut self) {
        let selected = self.list().and_then(|_| self.selected_identity());
        if let Some(identity) = selected {
            self.reveal(identity);
        } else if self.screen == Screen::Machine && !self.is_covered() {
            self.show(Screen::List(Kind::Processes));
        }
    }

    /// Shows a process or an instance.
    pub(super) fn reveal(&mut self, identity: Identity) {
        self.screen = Screen::List(identity.kind());
        self.selected = Some(identity.clone());
        self.opened = Some(identity);
        self.scroll = 0;
    }

    /// The row of a list that is selected, also while something lies over it.
    fn selected_identity(&self) -> Option<Identity> {
        let Screen::List(kind) = self.screen else {
            return None;
        };
        let subjects = self.subjects(kind);
        let found = subjects.get(self.selected_row(&subjects));
        found.map(|it| it.identity.clone())
    }

    pub(super) fn select(&mut self, row: usize) {
        let Some(kind) = self.list() else {
            return;
        };
        let subjects = self.subjects(kind);
        let room = self.room().height.saturating_sub(1);
        let window = list_screen::window(subjects.len(), row, room, self.top);
        self.selected = subjects.get(row).map(|it| it.identity.clone());
        self.top = window.start;
    }

    /// Moves the selection, or scrolls.
    pub(super) fn go(&mut self, key: Key) {
        let page = self.size.1.saturating_sub(4).max(1);
        let from = |at: usize, last: usize| match key {
            Key::Up | Key::Character('k') => at.saturating_sub(1),
            Key::Down | Key::Character('j') => (at + 1).min(last),
            Key::PageUp => at.saturating_sub(page),
            Key::PageDown => at.saturating_add(page).min(last),
            Key::Home => 0,
            Key::End => last,
            _ => at.min(last),
        };
        let Some(kind) = self.list() else {
            self.scroll = from(self.scroll, self.scroll_max());
            return;
        };
        let subjects = self.subjects(kind);
        let row = from(
            self.selected_row(&subjects),
            subjects.len().saturating_sub(1),
        );
        self.select(row);
    }

    /// The most lines that can be scrolled away: bounds the figure, drawing bounds what is seen.
    fn scroll_max(&self) -> usize {
        let said = self.answer.as_ref().and_then(|it| it.lines.as_ref());
        let said = said.map_or(0, Vec::len);
        let snapshot = self.shown.as_ref().map(|it| &it.snapshot);
        let rows = snapshot.map_or(0, |it| {
            let opened = it.opened.as_ref();
            let opened = opened.map_or(0, |it| {
                it.threads.len() + it.segments.as_ref().map_or(0, Vec::len)
            });
            it.nodes.len() + it.processes.len() + it.gaps.len() + opened
        });
        said.max(rows) + HELP_LINES_MAX
    }

    /// The name, for commands, of what the user looks at: what is open, or the selected row, or
    /// else the target.
    fn target(&self) -> Option<String> {
        let opened = self.opened.clone().or_else(|| self.selected_identity());
        let named = opened.as_ref().map(actions::target);
        named.or_else(|| self.options.target.clone())
    }

    fn ask(&mut self, action: &Action) -> Request {
        let Some(arguments) = action.arguments(self.target()) else {
            self.note = Some("select a process or a database first: Tab".to_owned());
            return Request::Nothing;
        };
        let command = actions::command(&arguments);
        if self.options.replay.is_some() {
            self.note = Some(format!("a recording cannot be asked: {command}"));
            return Request::Nothing;
        }
        if self.is_running {
            self.note = Some("the command before is still running".to_owned());
            return Request::Nothing;
        }
        self.is_running = true;
        self.answer = Some(Answer {
            command,
            lines: None,
            is_plan: action.is_plan,
        });
        self.has_help = false;
        self.scroll = 0;
        Request::Run(arguments)
    }

    /// Takes what the command said, unless the user has left it.
    pub(super) fn hear(&mut self, text: &str) {
        self.is_running = false;
        let Some(answer) = self.answer.as_mut().filter(|it| it.lines.is_none()) else {
            return;
        };
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let plan = lines.iter().position(|line| line.starts_with(PLAN));
        // Below the command and an empty line.
        self.scroll = plan.filter(|_| answer.is_plan).map_or(0, |at| at + 2);
        answer.lines = Some(lines);
    }

    fn copy(&mut self) -> Request {
        let asked = self.answer.as_ref().map(|it| it.command.clone());
        let inspect = || Action::of('i')?.arguments(self.target());
        let Some(command) = asked.or_else(|| Some(actions::command(&inspect()?))) else {
            self.note = Some("select a process or a database first: Tab".to_owned());
            return Request::Nothing;
        };
        self.note = Some(format!("given to the terminal to copy: {command}"));
        Request::Copy(command)
    }
}
