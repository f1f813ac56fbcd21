//! What the view is told: keys, sizes, snapshots, and that nothing more will come.

use model::Snapshot;

/// A key, free of any terminal library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character, also space.
    Character(char),
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// To the right: the next snapshot of a paused replay.
    Right,
    /// One screen up.
    PageUp,
    /// One screen down.
    PageDown,
    /// The first row.
    Home,
    /// The last row.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Ctrl-C.
    Interrupt,
}

/// Something that the view reacts to.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A key was pressed.
    Key(Key),
    /// The terminal has this many columns and lines.
    Resize(u16, u16),
    /// The next snapshot.
    Snapshot(Box<Snapshot>),
    /// No snapshot follows, and why, if that is not plain from the rest.
    Ended(String),
}

/// What the view asks for after an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Nothing: carry on.
    Nothing,
    /// The next snapshot of the recording, at once.
    Step,
    /// To end.
    Quit,
}
