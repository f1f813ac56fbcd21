//! How much work a running server has done, by its own counters: read once a second, and cheap.

use crate::Error;

/// The counters of a running server.
pub trait WorkCounters: Send {
    /// One unit of work, in the singular.
    fn unit(&self) -> &'static str;

    /// What the server also counts for each unit, whose share shows another mix of work, in the
    /// plural; `None` if nothing.
    fn mix(&self) -> Option<&'static str>;

    /// Reads them.
    ///
    /// # Errors
    /// When the server does not tell them.
    fn read(&mut self) -> Result<WorkDone, Error>;
}

/// Work since the server started or its counters were reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// Units of work.
    pub units: u64,
    /// What is counted for the mix.
    pub mix: Option<u64>,
}
