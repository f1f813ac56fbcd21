//! Statements within a transaction.

use rusqlite::params_from_iter;

use crate::Error;
use crate::database::session::Session;
use crate::database::{Row, Value};
use crate::place::Place;

/// A transaction that has begun.
pub(crate) enum Transaction<'t> {
    File(&'t Place, &'t rusqlite::Connection),
    Server(&'t Place, &'t Session),
}

impl Transaction<'_> {
    /// Where the store is, for messages.
    pub(crate) fn place(&self) -> &Place {
        match self {
            Transaction::File(place, _) | Transaction::Server(place, _) => place,
        }
    }

    /// Runs a statement; returns the number of rows that it changed.
    pub(crate) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, Error> {
        match self {
            Transaction::File(place, connection) => {
                let done = connection.execute(sql, params_from_iter(values));
                let rows = done.map_err(|cause| Error::sqlite(place, cause))?;
                Ok(rows as u64)
            }
            Transaction::Server(place, session) => session.execute(place, sql, values),
        }
    }

    /// Runs statements without values.
    pub(crate) fn batch(&self, sql: &str) -> Result<(), Error> {
        match self {
            Transaction::File(place, connection) => connection
                .execute_batch(sql)
                .map_err(|cause| Error::sqlite(place, cause)),
            Transaction::Server(place, session) => session.batch(place, sql).map(|_| ()),
        }
    }

    /// Calls `take` with each row of an answer.
    pub(crate) fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut take: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Transaction::File(place, connection) => {
                let failed = |cause| Error::sqlite(place, cause);
                let mut statement = connection.prepare(sql).map_err(failed)?;
                let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
                while let Some(row) = rows.next().map_err(failed)? {
                    take(&Row::File(place, row))?;
                }
                Ok(())
            }
            Transaction::Server(place, session) => session.each(place, sql, values, take),
        }
    }

    /// Returns what `take` makes of each row.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        take: impl Fn(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        self.each(sql, values, |row| {
            all.push(take(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Returns what `take` makes of the first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        take: impl Fn(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        Ok(self.all(sql, values, take)?.into_iter().next())
    }
}
