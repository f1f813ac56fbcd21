//! The state of the view and how inputs change it. It has no clock and reads nothing: the same
//! inputs give the same screens.

use std::collections::VecDeque;

use live::{Attention, History, Notices};
use model::{ServerSession, Snapshot};

use crate::actions::Answer;
use crate::input::{Input, Request};
use crate::list_screen;
use crate::moment::Moment;
use crate::process_table::Style;
use crate::subjects::{Identity, Kind, Sort, Subject, sort};
use crate::tree::as_tree;

mod keys;
mod mouse;
mod replay;

/// What the view shows, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The target, as the user named it; `None` for the whole machine.
    pub target: Option<String>,
    /// Whether colours are used.
    pub has_colours: bool,
    /// Whether the terminal shows characters of ASCII only.
    pub is_ascii: bool,
    /// The recording that is replayed; `None` when live.
    pub replay: Option<Recorded>,
}

/// What is known of a recording before it is replayed.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// When each snapshot was taken, in seconds since 1970-01-01 UTC.
    pub taken_at_s: Vec<f64>,
    /// What happened, and at which snapshot, in their order.
    pub events: Vec<(usize, String)>,
}

/// The screens that Tab goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    Machine,
    List(Kind),
}

/// What the user is typing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    Filter,
    Time,
}

/// Seconds for which a forecast is shown: it changes slowly, and costs more than all else.
const FORECAST_EVERY_S: f64 = 5.0;
/// Processes that a screen can show, with those of the databases on it.
const VISIBLE_MAX: usize = 100;

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
    /// Of a replay, what was shown before, the newest last; and what comes after, the next last.
    past: VecDeque<Moment>,
    ahead: Vec<Moment>,
    snapshots: usize,
    pub(crate) screen: Screen,
    /// What Enter opened, with its name.
    pub(crate) opened: Option<Identity>,
    /// What the sessions of an instance do, by its name.
    pub(crate) sessions: Option<(String, Result<Vec<ServerSession>, String>)>,
    /// What a command said that was asked for.
    pub(crate) answer: Option<Answer>,
    /// Whether a command that was asked for has not ended yet.
    is_running: bool,
    pub(crate) has_help: bool,
    pub(crate) is_paused: bool,
    pub(crate) sort: Sort,
    is_tree: bool,
    pub(crate) filter: String,
    pub(crate) time: String,
    pub(crate) typing: Option<Prompt>,
    /// What the last key came to.
    pub(crate) note: Option<String>,
    /// The selected row; the first if `None`.
    selected: Option<Identity>,
    /// The first row of a list that is shown, if the selected one is shown then.
    pub(crate) top: usize,
    /// Lines scrolled on screens without a selection.
    pub(crate) scroll: usize,
    pub(crate) ended: Option<String>,
    speed: f64,
    /// Columns and lines of the terminal.
    pub(crate) size: (usize, usize),
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
            past: VecDeque::new(),
            ahead: Vec::new(),
            snapshots: 0,
            screen: Screen::Machine,
            opened: None,
            sessions: None,
            answer: None,
            is_running: false,
            has_help: false,
            is_paused: false,
            sort: Sort::Cpus,
            is_tree: false,
            filter: String::new(),
            time: String::new(),
            typing: None,
            note: None,
            selected: None,
            top: 0,
            scroll: 0,
            ended: None,
            speed: 1.0,
            size: (80, 24),
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

    /// What the user looks at: snapshots should have it, and more of what is open.
    pub fn attention(&self) -> Attention {
        let rows = self.rows_on_screen();
        let pids = rows.iter().flat_map(|it| &it.processes).map(|it| it.pid);
        Attention {
            opened: self.opened.as_ref().map(Identity::subject),
            visible: pids.take(VISIBLE_MAX).collect(),
        }
    }

    /// The rows of processes or databases that can be seen, or may be.
    fn rows_on_screen(&self) -> Vec<Subject<'_>> {
        let lines = self.room().height.saturating_sub(1);
        if let Some(opened) = &self.opened {
            return self.find(opened).into_iter().collect();
        }
        let Screen::List(kind) = self.screen else {
            let mut rows = self.subjects(Kind::Processes);
            rows.truncate(lines);
            return rows;
        };
        let mut rows = self.subjects(kind);
        let window = list_screen::window(rows.len(), self.selected_row(&rows), lines, self.top);
        rows.truncate(window.end);
        rows.split_off(window.start)
    }

    /// Takes an input, and says what the view wants next.
    pub fn update(&mut self, input: Input) -> Request {
        match input {
            Input::Resize(width, height) => self.size = (width.into(), height.into()),
            Input::Snapshot(snapshot) => self.take(*snapshot),
            Input::Passed(snapshot) => self.pass(*snapshot),
            Input::Rewound => self.rewind(),
            Input::Ended(reason) => self.ended = Some(reason),
            Input::Said(text) => self.hear(&text),
            Input::Sessions(name, sessions) => self.sessions = Some((name, sessions)),
            Input::Key(key) => return self.key(key),
            Input::Mouse(mouse) => return self.mouse(mouse),
        }
        Request::Nothing
    }

    fn pass(&mut self, snapshot: Snapshot) {
        self.snapshots += 1;
        self.history.push(snapshot);
        self.notices.update(&self.history);
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
        if self.options.replay.is_some() {
            // A paused replay gets a snapshot only when the user steps.
            self.show_next(moment);
        } else if self.is_paused && self.shown.is_some() {
            self.newest = Some(moment);
        } else {
            self.newest = None;
            self.shown = Some(moment);
        }
    }

    /// Whether it is a list whose rows can be selected.
    fn list(&self) -> Option<Kind> {
        match self.screen {
            Screen::List(kind) if self.opened.is_none() && !self.is_covered() => Some(kind),
            _ => None,
        }
    }

    /// Whether something lies over the screen that Tab went to, or over what is open.
    pub(crate) fn is_covered(&self) -> bool {
        self.has_help || self.answer.is_some()
    }

    /// The rows of a list, filtered and sorted.
    pub(crate) fn subjects(&self, kind: Kind) -> Vec<Subject<'_>> {
        let Some(moment) = &self.shown else {
            return Vec::new();
        };
        let mut subjects = Subject::all(moment, kind);
        if !self.filter.is_empty() {
            let filter = self.filter.to_lowercase();
            subjects.retain(|it| it.matches(&filter));
        }
        sort(&mut subjects, self.sort);
        match self.style(kind).is_tree {
            true => as_tree(subjects),
            false => subjects,
        }
    }

    /// How a list is shown.
    pub(crate) fn style(&self, kind: Kind) -> Style {
        Style {
            kind,
            sort: self.sort,
            is_tree: self.is_tree && kind == Kind::Processes,
        }
    }

    /// The index of the selected row; the first if it is gone.
    pub(crate) fn selected_row(&self, subjects: &[Subject]) -> usize {
        let selected = self.selected.as_ref();
        let found = selected.and_then(|it| subjects.iter().position(|row| row.identity == *it));
        found.unwrap_or(0)
    }
}
