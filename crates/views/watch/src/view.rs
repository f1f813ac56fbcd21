//! The state of the view and how inputs change it. It has no clock and reads nothing: the same
//! inputs give the same screens.

use live::{History, Notices};
use model::{OpenedSubject, Snapshot};

use crate::input::{Input, Key, Request};
use crate::moment::Moment;
use crate::subjects::{Identity, Kind, Sort, Subject, sort};

/// What the view shows, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The target, as the user named it; `None` for the whole machine.
    pub target: Option<String>,
    /// Whether colours are used.
    pub has_colours: bool,
    /// The number of snapshots of a recording that is replayed; `None` when live.
    pub replay_of: Option<usize>,
}

/// The screens that Tab goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    Machine,
    List(Kind),
}

/// Speeds of a replay.
const SPEED_MIN: f64 = 0.125;
const SPEED_MAX: f64 = 1024.0;
/// More lines than help and the sentences of a screen have.
const HELP_LINES_MAX: usize = 64;
/// Seconds for which a forecast is shown: it changes slowly, and costs more than all else.
const FORECAST_EVERY_S: f64 = 5.0;
/// Characters of a filter.
const FILTER_MAX: usize = 64;

/// The live view.
#[derive(Debug)]
pub struct View {
    pub(crate) options: Options,
    history: History,
    notices: Notices,
    /// The forecast, and the uptime at which it was made.
    forecast: (Option<f64>, Option<String>),
    /// What is shown.
    pub(crate) shown: Option<Moment>,
    /// The newest, while something older is shown.
    newest: Option<Moment>,
    pub(crate) snapshots: usize,
    pub(crate) screen: Screen,
    /// What Enter opened, with its name.
    pub(crate) opened: Option<Identity>,
    pub(crate) has_help: bool,
    pub(crate) is_paused: bool,
    pub(crate) sort: Sort,
    pub(crate) filter: String,
    pub(crate) is_typing: bool,
    /// The selected row; the first if `None`.
    selected: Option<Identity>,
    /// Lines scrolled on screens without a selection.
    pub(crate) scroll: usize,
    pub(crate) ended: Option<String>,
    speed: f64,
    page: usize,
}

impl View {
    /// Creates a view that has no snapshot yet.
    pub fn new(options: Options) -> Self {
        View {
            options,
            history: History::default(),
            notices: Notices::default(),
            forecast: (None, None),
            shown: None,
            newest: None,
            snapshots: 0,
            screen: Screen::Machine,
            opened: None,
            has_help: false,
            is_paused: false,
            sort: Sort::Cpus,
            filter: String::new(),
            is_typing: false,
            selected: None,
            scroll: 0,
            ended: None,
            speed: 1.0,
            page: 10,
        }
    }

    /// Whether the user has paused it.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// How many times faster than recorded a replay runs.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// What the user has opened: snapshots should have its threads and segments.
    pub fn opened(&self) -> Option<OpenedSubject> {
        self.opened.as_ref().map(Identity::subject)
    }

    /// Takes an input, and says what the view wants next.
    pub fn update(&mut self, input: Input) -> Request {
        match input {
            Input::Resize(_, height) => self.page = usize::from(height).saturating_sub(4).max(1),
            Input::Snapshot(snapshot) => self.take(*snapshot),
            Input::Ended(reason) => self.ended = Some(reason),
            Input::Key(key) => return self.key(key),
        }
        Request::Nothing
    }

    fn take(&mut self, snapshot: Snapshot) {
        self.snapshots += 1;
        let uptime_s = snapshot.uptime_s;
        self.history.push(snapshot);
        let is_old = |at: f64| !(0.0..FORECAST_EVERY_S).contains(&(uptime_s - at));
        if self.forecast.0.is_none_or(is_old) {
            self.forecast = (Some(uptime_s), self.history.forecast().sentence());
        }
        let notices = self.notices.update(&self.history);
        let moment = Moment::new(&self.history, self.forecast.1.clone(), notices);
        // A paused replay gets a snapshot only when the user steps.
        let is_held = self.is_paused && self.options.replay_of.is_none() && self.shown.is_some();
        match is_held {
            true => self.newest = Some(moment),
            false => {
                self.newest = None;
                self.shown = Some(moment);
            }
        }
    }

    fn key(&mut self, key: Key) -> Request {
        if key == Key::Interrupt {
            return Request::Quit;
        }
        if self.is_typing {
            self.type_filter(key);
            return Request::Nothing;
        }
        match key {
            Key::Character('q') => return Request::Quit,
            Key::Escape => return self.back(),
            Key::Right if self.is_paused && self.options.replay_of.is_some() => {
                return Request::Step;
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
            Key::Character('/') => self.begin_filter(),
            Key::Enter => self.open(),
            _ => self.go(key),
        }
        Request::Nothing
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.is_typing = false;
                self.filter.clear();
            }
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Character(character) if self.filter.chars().count() < FILTER_MAX => {
                self.filter.push(character);
            }
            _ => self.go(key),
        }
    }

    /// Leaves what was opened last; at the bottom, the program.
    fn back(&mut self) -> Request {
        if self.has_help {
            self.toggle_help();
        } else if self.opened.take().is_some() {
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
        self.has_help = false;
        self.scroll = 0;
    }

    fn begin_filter(&mut self) {
        if self.screen == Screen::Machine || self.opened.is_some() || self.has_help {
            let kind = match self.screen {
                Screen::List(kind) => kind,
                Screen::Machine => Kind::Processes,
            };
            self.show(Screen::List(kind));
        }
        self.is_typing = true;
    }

    fn open(&mut self) {
        let is_open = self.opened.is_some() || self.has_help;
        if let (Screen::List(kind), false) = (self.screen, is_open) {
            let subjects = self.subjects(kind);
            let found = subjects.get(self.selected_row(&subjects));
            self.opened = found.map(|it| it.identity.clone());
            self.scroll = 0;
        } else if self.screen == Screen::Machine && !is_open {
            self.show(Screen::List(Kind::Processes));
        }
    }

    fn go(&mut self, key: Key) {
        let page = self.page;
        let from = |at: usize, last: usize| match key {
            Key::Up | Key::Character('k') => at.saturating_sub(1),
            Key::Down | Key::Character('j') => (at + 1).min(last),
            Key::PageUp => at.saturating_sub(page),
            Key::PageDown => at.saturating_add(page).min(last),
            Key::Home => 0,
            Key::End => last,
            _ => at.min(last),
        };
        let Screen::List(kind) = self.screen else {
            self.scroll = from(self.scroll, self.scroll_max());
            return;
        };
        if self.opened.is_some() || self.has_help {
            self.scroll = from(self.scroll, self.scroll_max());
            return;
        }
        let subjects = self.subjects(kind);
        let row = from(
            self.selected_row(&subjects),
            subjects.len().saturating_sub(1),
        );
        self.selected = subjects.get(row).map(|it| it.identity.clone());
    }

    /// The most lines that can be scrolled away: bounds the figure, drawing bounds what is seen.
    fn scroll_max(&self) -> usize {
        let snapshot = self.shown.as_ref().map(|it| &it.snapshot);
        let rows = snapshot.map_or(0, |it| {
            let opened = it.opened.as_ref();
            let opened = opened.map_or(0, |it| {
                it.threads.len() + it.segments.as_ref().map_or(0, Vec::len)
            });
            it.nodes.len() + it.processes.len() + it.gaps.len() + opened
        });
        rows + HELP_LINES_MAX
    }

    /// The rows of a list, filtered and sorted.
    pub(crate) fn subjects(&self, kind: Kind) -> Vec<Subject<'_>> {
        let Some(moment) = &self.shown else {
            return Vec::new();
        };
        let mut subjects = Subject::all(moment, kind);
        if !self.filter.is_empty() {
            subjects.retain(|it| it.matches(&self.filter));
        }
        sort(&mut subjects, self.sort);
        subjects
    }

    /// The index of the selected row; the first if it is gone.
    pub(crate) fn selected_row(&self, subjects: &[Subject]) -> usize {
        let selected = self.selected.as_ref();
        let found = selected.and_then(|it| subjects.iter().position(|row| row.identity == *it));
        found.unwrap_or(0)
    }
}
