//! The server's own counters of hits, and their difference from numalab's.

use std::time::Duration;

use postgres::Client;

use crate::tables::Table;
use crate::{Error, Version};

/// Maximum relative difference of a server's counter.
pub(crate) const DISAGREEMENT_MAX: f64 = 0.01;
/// A session of PostgreSQL 14 or earlier reports at most every 500 ms (pgstat.c,
/// `PGSTAT_STAT_INTERVAL`), to a collector that writes its file at most as often.
const COLLECTOR_LAG: Duration = Duration::from_millis(650);

/// The source of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterSource {
    /// `pg_stat_database`.
    Database,
    /// `pg_stat_io`, of all client backends.
    Io,
    /// `pg_stat_get_backend_io`, of the sessions.
    BackendIo,
}

impl CounterSource {
    /// Returns its name in the server.
    pub fn name(self) -> &'static str {
        match self {
            CounterSource::Database => "pg_stat_database",
            CounterSource::Io => "pg_stat_io",
            CounterSource::BackendIo => "pg_stat_get_backend_io",
        }
    }
}

/// One counter of the server compared with numalab's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterCheck {
    /// The source of the counter.
    pub source: CounterSource,
    /// Hits counted by the server.
    pub hits: u64,
    /// Hits counted by numalab: statements times hits per statement.
    pub expected: f64,
}

impl CounterCheck {
    /// Returns the relative difference of the server's counter from numalab's.
    pub fn disagreement(&self) -> f64 {
        (self.hits as f64 - self.expected) / self.expected.max(1.0)
    }

    /// Returns why a trial with this counter is invalid, if it is.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let disagreement = self.disagreement();
        (disagreement.abs() > DISAGREEMENT_MAX || !disagreement.is_finite()).then(|| {
            format!(
                "{} counted {} hits, statements times hits per statement are {:.0}: {:+.2} %",
                self.source.name(),
                self.hits,
                self.expected,
                disagreement * 100.0
            )
        })
    }
}

/// The counters of the whole server at a time when no session runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerCounters {
    /// `blks_hit` of the database.
    pub database_hits: u64,
    /// Blocks of the load's tables and indexes that were read from outside the shared buffers.
    pub table_reads: u64,
    /// Hits of client backends; `None` before PostgreSQL 16.
    pub io_hits: Option<u64>,
}

impl ServerCounters {
    /// Reads the counters.
    ///
    /// # Errors
    /// When a statement fails.
    pub(crate) fn read(
        client: &mut Client,
        version: &Version,
        tables: &[Table],
    ) -> Result<Self, Error> {
        // Flush what this connection has read so far, so that it does not appear in the difference
        // later.
        hand_in(client, version)?;
        let what = || Error::client("reading the server's counters");
        let sql = "SELECT blks_hit FROM pg_stat_database WHERE datname = current_database()";
        let hits: i64 = client.query_one(sql, &[]).map_err(what())?.get(0);
        let io_hits = if version.major >= 16 {
            let sql = "SELECT coalesce(sum(hits), 0)::bigint FROM pg_stat_io \
                       WHERE backend_type = 'client backend' AND object = 'relation'";
            let hits: i64 = client.query_one(sql, &[]).map_err(what())?.get(0);
            Some(hits.cast_unsigned())
        } else {
            None
        };
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let sql = "SELECT coalesce(sum(heap_blks_read + coalesce(idx_blks_read, 0)), 0)::bigint \
                   FROM pg_statio_all_tables \
                   WHERE relid = ANY (SELECT unnest($1::text[])::regclass)";
        let table_reads: i64 = client.query_one(sql, &[&names]).map_err(what())?.get(0);
        Ok(ServerCounters {
            table_reads: table_reads.cast_unsigned(),
            database_hits: hits.cast_unsigned(),
            io_hits,
        })
    }

    /// Compares the increase since `before` with numalab's count.
    pub(crate) fn checks(&self, before: &Self, expected: f64) -> Vec<CounterCheck> {
        let check = |source, hits| CounterCheck {
            source,
            hits,
            expected,
        };
        let database = self.database_hits.saturating_sub(before.database_hits);
        let mut checks = vec![check(CounterSource::Database, database)];
        if let (Some(after), Some(before)) = (self.io_hits, before.io_hits) {
            checks.push(check(CounterSource::Io, after.saturating_sub(before)));
        }
        checks
    }

    /// Returns the blocks of the load's tables and indexes that were read from outside the shared
    /// buffers since `before`.
    pub(crate) fn table_reads(&self, before: &Self) -> u64 {
        self.table_reads.saturating_sub(before.table_reads)
    }
}

/// Makes the session of `client` report its counters; returns its own hits if the server counts
/// them (18 and later).
///
/// # Errors
/// When a statement fails.
pub(crate) fn hand_in(client: &mut Client, version: &Version) -> Result<Option<u64>, Error> {
    let what = || Error::client("handing in the session's counters");
    if version.major < 15 {
        std::thread::sleep(COLLECTOR_LAG);
        client.batch_execute("SELECT 1").map_err(what())?;
        return Ok(None);
    }
    client
        .batch_execute("SELECT pg_stat_force_next_flush()")
        .map_err(what())?;
    if version.major < 18 {
        return Ok(None);
    }
    let sql = "SELECT coalesce(sum(hits), 0)::bigint \
               FROM pg_stat_get_backend_io(pg_backend_pid()) WHERE object = 'relation'";
    let hits: i64 = client.query_one(sql, &[]).map_err(what())?.get(0);
    Ok(Some(hits.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use super::{CounterCheck, CounterSource, ServerCounters};

    fn check(hits: u64, expected: f64, contradicts: bool) {
        let source = CounterSource::Database;
        let check = CounterCheck {
            source,
            hits,
            expected,
        };
        assert_eq!(
            check.contradiction().is_some(),
            contradicts,
            "{hits} {expected}"
        );
    }

    #[test]
    fn one_percent_is_the_limit() {
        check(1_000_000, 1_000_000.0, false);
        check(1_009_000, 1_000_000.0, false);
        check(1_011_000, 1_000_000.0, true);
        check(989_000, 1_000_000.0, true);
        check(500, 0.0, true);
        check(1, f64::NAN, true);
    }

    #[test]
    fn the_message_has_both_counts() {
        let source = CounterSource::Io;
        let check = CounterCheck {
            source,
            hits: 50,
            expected: 100.0,
        };
        let text = check.contradiction().unwrap();
        assert!(
            text.contains("pg_stat_io counted 50 hits") && text.contains("-50.00 %"),
            "{text}"
        );
    }

    #[test]
    fn what_was_added_is_compared() {
        let before = ServerCounters {
            database_hits: 10,
            table_reads: 3,
            io_hits: None,
        };
        let after = ServerCounters {
            database_hits: 109,
            table_reads: 5,
            io_hits: Some(3),
        };
        let checks = after.checks(&before, 99.0);
        assert_eq!((checks.len(), checks[0].hits), (1, 99));
        assert_eq!(after.table_reads(&before), 2);
    }
}
