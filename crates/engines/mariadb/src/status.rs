//! The server's own counters.

use server::{CounterReading, Counters, Error};

use crate::client::Client;

/// Requests for a page of the buffer pool, whatever for.
pub(crate) const REQUESTS: &str = "Innodb_buffer_pool_read_requests";
/// Requests that had to read the page from its file.
const FROM_FILES: &str = "Innodb_buffer_pool_reads";

/// Reads the counters of the whole server.
///
/// # Errors
/// When the server does not tell them.
pub(crate) fn read(client: &mut Client) -> Result<Counters, Error> {
    let [requests, from_outside] = counts(client, [REQUESTS, FROM_FILES])?;
    Ok(Counters {
        reads: vec![CounterReading {
            source: REQUESTS,
            count: requests,
        }],
        from_outside,
    })
}

/// Reads counters by their names.
///
/// # Errors
/// As [`read`].
pub(crate) fn counts<const N: usize>(
    client: &mut Client,
    names: [&'static str; N],
) -> Result<[u64; N], Error> {
    const WHAT: &str = "reading the server's counters";
    let list = names.map(|name| format!("'{name}'")).join(", ");
    let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({list})");
    let rows = client.query(&sql, WHAT)?;
    let mut found = [0; N];
    for (name, count) in names.iter().zip(&mut found) {
        let row = rows
            .iter()
            .find(|row| row.first() == Some(&Some((*name).to_owned())));
        let value = row.and_then(|row| row.get(1)?.as_ref()?.parse::<u64>().ok());
        let missing = || Error::answer(WHAT, format!("a count of {name}"), "none");
        *count = value.ok_or_else(missing)?;
    }
    Ok(found)
}
