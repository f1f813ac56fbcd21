//! What the view is told: keys, the mouse, sizes, snapshots, and that nothing more will come.

use model::{ServerSession, Snapshot};

/// A key, free of any terminal library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character, also space.
    Character(char),
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// To the left: the snapshot before, in a replay.
    Left,
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

/// What a mouse does, free of any terminal library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mouse {
    /// Its first button was pressed, at this column and line from 0.
    Click(u16, u16),
    /// Its wheel was turned up.
    WheelUp,
    /// Its wheel was turned down.
    WheelDown,
}

/// Something that the view reacts to.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A key was pressed.
    Key(Key),
    /// The mouse was used.
    Mouse(Mouse),
    /// The terminal has this many columns and lines.
    Resize(u16, u16),
    /// The next snapshot.
    Snapshot(Box<Snapshot>),
    /// A snapshot on the way to another: it counts, but nobody sees it.
    Passed(Box<Snapshot>),
    /// A recording begins again: what was seen of it is forgotten.
    Rewound,
    /// No snapshot follows, and why, if that is not plain from the rest.
    Ended(String),
    /// A command that the view asked for has ended, with what it said.
    Said(String),
    /// What the sessions of the instance with this name do, or why nobody knows.
    Sessions(String, Result<Vec<ServerSession>, String>),
}

/// What the view asks for after an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Nothing: carry on.
    Nothing,
    /// The next snapshot of the recording, at once.
    Step,
    /// The snapshot of the recording with this index, and those before it on the way.
    Seek(usize),
    /// To run numalab with these arguments, which change nothing, and tell what it says.
    Run(Vec<String>),
    /// To copy a text.
    Copy(String),
    /// To end.
    Quit,
}
