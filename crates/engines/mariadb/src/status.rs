//! The server's own counters.

use server::{CounterReading, Counters};

use crate::Error;
use crate::client::Client;

/// Requests for a page of the buffer pool, whatever for.
const REQUESTS: &str = "Innodb_buffer_pool_read_requests";
/// Requests that had to read the page from its file.
const FROM_FILES: &str = "Innodb_buffer_pool_reads";

/// Reads the counters of the whole server.
///
/// # Errors
/// When the server does not tell them.
pub(crate) fn read(client: &mut Client) -> Result<Counters, Error> {
    const WHAT: &str = "reading the server's counters";
    let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ('{REQUESTS}', '{FROM_FILES}')");
    let rows = client.query(&sql, WHAT)?;
    let count = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row.first() == Some(&Some(name.to_owned())));
        let value = row.and_then(|row| row.get(1)?.as_ref()?.parse::<u64>().ok());
        value.ok_or_else(|| Error::answer(WHAT, format!("a count of {name}"), "none"))
    };
    Ok(Counters {
        reads: vec![CounterReading {
            source: REQUESTS,
            count: count(REQUESTS)?,
        }],
        from_outside: count(FROM_FILES)?,
    })
}
