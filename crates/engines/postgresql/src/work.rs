//! How much work a running server has done: transactions of all databases, and logical reads for
//! the mix (pg_stat_database). Our own query is a transaction, one a second. Sessions hand their
//! counts in at most once a second, and idle ones later (pgstat.c, `PGSTAT_MIN_INTERVAL`).

use std::path::Path;

use postgres::Client;
use server::{Error, WorkCounters, WorkDone};

use crate::error;
use crate::local::LocalServer;

const COUNTS: &str = "SELECT sum(xact_commit + xact_rollback)::bigint, \
                             sum(blks_hit + blks_read)::bigint FROM pg_stat_database";

/// Connects to the server of a data directory, as `role`; `None`: the one named like the connecting
/// user.
///
/// # Errors
/// When the server does not run, or rejects the connection.
pub(crate) fn connect(data: &Path, role: Option<&str>) -> Result<Box<dyn WorkCounters>, Error> {
    let client = LocalServer::of(data, role)?.ask(|door| door.connect_somewhere())?;
    Ok(Box::new(Transactions { client }))
}

/// The counter of transactions.
struct Transactions {
    client: Client,
}

impl WorkCounters for Transactions {
    fn unit(&self) -> &'static str {
        "transaction"
    }

    fn mix(&self) -> Option<&'static str> {
        Some("logical reads")
    }

    fn read(&mut self) -> Result<WorkDone, Error> {
        let row = self.client.query_one(COUNTS, &[]);
        let row = row.map_err(error::client("reading the server's counters"))?;
        let count = |index: usize| {
            let count: Option<i64> = row.get(index);
            count.unwrap_or(0).cast_unsigned()
        };
        Ok(WorkDone {
            units: count(0),
            mix: Some(count(1)),
        })
    }
}
