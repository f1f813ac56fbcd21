//! What a load is to a session, and what it is made of.

use model::OwnMemory;

use crate::Error;
use crate::buffer_cache::Reader;
use crate::statement::Table;

/// What a session does piece by piece.
pub(crate) trait Load {
    /// Does about a millisecond's work; answers how much that was, in the units of the metric.
    ///
    /// # Errors
    /// Whatever keeps it from going on.
    fn piece(&mut self, reader: &mut Reader<'_>) -> Result<u64, Error>;

    /// Where its memory is mapped in this process: the first address and the bytes.
    fn memory(&self) -> Option<(usize, usize)>;

    /// Compares what the window did with what it must have done; comes after the window.
    ///
    /// # Errors
    /// [`Error::WrongResult`] when that is something else.
    fn verify(&mut self) -> Result<(), Error>;
}

/// What a load is made of.
pub(crate) struct Ingredients<'o> {
    /// What is asked for.
    pub own: &'o OwnMemory,
    /// Size of its pages.
    pub page_bytes: u64,
    /// The table of the session.
    pub table: Table,
    /// Seed of what it draws.
    pub seed: u64,
}
