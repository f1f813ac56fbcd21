//! A server with loaded tables, ready for sessions.

use linux::Root;
use model::ServerKind;

use crate::{CacheMemory, Counters, Error, Opener};

/// A server whose tables are loaded and cached. Every session reads a table with known rows.
pub trait Loaded {
    /// Returns which database it is.
    fn kind(&self) -> ServerKind;

    /// Returns whether the server is numalab's, so that nobody else uses it.
    fn is_ours(&self) -> bool;

    /// Returns the rows of the smallest table.
    fn rows(&self) -> u64;

    /// Returns what opens the sessions, in their order; `seed` determines the keys they draw.
    fn openers(&self, seed: u64) -> Vec<Opener>;

    /// Returns the mean logical reads of one statement of `work_unit` rows, as the server counts
    /// them.
    ///
    /// # Errors
    /// When the server does not execute it as meant, or reads from outside its cache.
    fn reads_per_statement(&mut self, work_unit: u32, seed: u64) -> Result<f64, Error>;

    /// Reads the server's counters while no session runs.
    ///
    /// # Errors
    /// When a statement fails.
    fn counters(&mut self) -> Result<Counters, Error>;

    /// Returns the source of the counters that sessions hand in themselves.
    fn session_counter(&self) -> &'static str;

    /// Returns where the cache lies.
    ///
    /// # Errors
    /// When the server is not on this machine, or does not report it.
    fn cache(&mut self, root: &Root) -> Result<CacheMemory, Error>;

    /// Returns the processes that may have the cache mapped now, the one that has touched most
    /// first.
    fn processes(&self, root: &Root) -> Vec<u32>;

    /// Returns how the server's threads contradict the settings that it was started with, in words.
    fn contradictions(&self, _root: &Root) -> Vec<String> {
        Vec::new()
    }
}
