//! The open store, and its transactions.

use crate::Error;
use crate::database::{Server, Transaction};
use crate::place::Place;

/// An open store.
#[derive(Debug)]
pub(crate) enum Database {
    /// A file of SQLite.
    File(rusqlite::Connection),
    /// A database of PostgreSQL.
    Server(Box<Server>),
}

impl Database {
    /// Reads within one transaction, for a consistent snapshot.
    pub(crate) fn read<T>(
        &self,
        place: &Place,
        work: impl Fn(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self {
            Database::File(connection) => {
                let failed = |cause| Error::sqlite(place, cause);
                let transaction = connection.unchecked_transaction().map_err(failed)?;
                work(&Transaction::File(place, &transaction))
            }
            Database::Server(server) => server.read(place, &work),
        }
    }

    /// Commits the changes made by `work`, or rolls all of them back. Where the connection to a
    /// server is lost, `work` runs again, unless it was committed.
    ///
    /// Takes SQLite's write lock at the start: two writers that both begin as readers would
    /// deadlock.
    pub(crate) fn write<T>(
        &self,
        place: &Place,
        work: impl Fn(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self {
            Database::File(connection) => {
                let failed = |cause| Error::sqlite(place, cause);
                let behavior = rusqlite::TransactionBehavior::Immediate;
                let transaction = rusqlite::Transaction::new_unchecked(connection, behavior);
                let transaction = transaction.map_err(failed)?;
                let value = work(&Transaction::File(place, &transaction))?;
                transaction.commit().map_err(failed)?;
                Ok(value)
            }
            Database::Server(server) => server.write(place, &work),
        }
    }

    /// Upgrades the tables as [`Database::write`] writes; `work` finds out what is there.
    pub(crate) fn upgrade(
        &self,
        place: &Place,
        work: fn(&Transaction<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Database::File(_) => self.write(place, work),
            Database::Server(server) => server.write_unmarked(place, &work),
        }
    }
}
