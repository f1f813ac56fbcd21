//! The server's own counters of hits.

use std::time::Duration;

use postgres::Client;
use server::{CounterReading, Counters, Error};

use crate::tables::Table;

use crate::Version;
use crate::error;

/// A session of PostgreSQL 14 or earlier reports at most every 500 ms (pgstat.c,
/// `PGSTAT_STAT_INTERVAL`), to a collector that writes its file at most as often.
const COLLECTOR_LAG: Duration = Duration::from_millis(650);

/// The hits of the sessions, each of its own.
pub(crate) const SESSION_COUNTER: &str = "pg_stat_get_backend_io";

/// Reads the counters of the whole server at a time when no session runs.
///
/// # Errors
/// When a statement fails.
pub(crate) fn read(
    client: &mut Client,
    version: &Version,
    tables: &[Table],
) -> Result<Counters, Error> {
    // Flush what this connection has read so far, so that it does not appear in the difference
    // later.
    hand_in(client, version)?;
    let what = || error::client("reading the server's counters");
    let sql = "SELECT blks_hit FROM pg_stat_database WHERE datname = current_database()";
    let hits: i64 = client.query_one(sql, &[]).map_err(what())?.get(0);
    let reading = |source, hits: i64| CounterReading {
        source,
        count: hits.cast_unsigned(),
    };
    let mut reads = vec![reading("pg_stat_database", hits)];
    if version.major >= 16 {
        let sql = "SELECT coalesce(sum(hits), 0)::bigint FROM pg_stat_io \
                   WHERE backend_type = 'client backend' AND object = 'relation'";
        let hits: i64 = client.query_one(sql, &[]).map_err(what())?.get(0);
        reads.push(reading("pg_stat_io", hits));
    }
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let sql = "SELECT coalesce(sum(heap_blks_read + coalesce(idx_blks_read, 0)), 0)::bigint \
               FROM pg_statio_all_tables \
               WHERE relid = ANY (SELECT unnest($1::text[])::regclass)";
    let table_reads: i64 = client.query_one(sql, &[&names]).map_err(what())?.get(0);
    Ok(Counters {
        reads,
        from_outside: table_reads.cast_unsigned(),
    })
}

/// Makes the session of `client` report its counters; returns its own hits if the server counts
/// them (18 and later).
///
/// # Errors
/// When a statement fails.
pub(crate) fn hand_in(client: &mut Client, version: &Version) -> Result<Option<u64>, Error> {
    let what = || error::client("handing in the session's counters");
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
