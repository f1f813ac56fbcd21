//! The interface between sessions and loads.

use model::OwnMemory;

use crate::Error;
use crate::buffer_cache::Reader;
use crate::statement::Table;

/// A load, which a session executes piece by piece.
pub(crate) trait Load {
    /// Does a piece of work, about a millisecond; returns its amount in the units of the metric.
    ///
    /// # Errors
    /// When the load cannot continue.
    fn piece(&mut self, reader: &mut Reader<'_>) -> Result<u64, Error>;

    /// Returns where its memory is mapped in this process: address and bytes.
    fn memory(&self) -> Option<(usize, usize)>;

    /// Compares what the load did with what it must have done; called after the window.
    ///
    /// # Errors
    /// [`Error::WrongResult`] when they differ.
    fn verify(&mut self) -> Result<(), Error>;
}

/// Parameters to create a load.
pub(crate) struct Ingredients<'o> {
    /// The requested load and memory.
    pub own: &'o OwnMemory,
    /// Its page size.
    pub page_bytes: u64,
    /// The table of the session.
    pub table: Table,
    /// Seed of its random numbers.
    pub seed: u64,
}
