//! What a process of an instance is called.

/// A process of an instance, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessName {
    /// A session, or a worker of a parallel scan.
    Session(u32),
    /// The database writer of a pool.
    Writer(u32),
}

impl std::fmt::Display for ProcessName {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProcessName::Session(number) => write!(to, "session {number}"),
            ProcessName::Writer(number) => write!(to, "database writer {number}"),
        }
    }
}
