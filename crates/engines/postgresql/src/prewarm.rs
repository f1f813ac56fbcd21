//! Reads all blocks of tables and their indexes into the shared buffers.

use postgres::Client;
use server::Error;

use crate::error;
use crate::tables::Table;

/// Reads the tables, with the extension pg_prewarm if the server has it.
///
/// # Errors
/// When a statement fails.
pub(crate) fn prewarm(client: &mut Client, tables: &[Table]) -> Result<(), Error> {
    let sql = "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_prewarm')";
    let row = client.query_one(sql, &[]);
    let has_extension: bool = row.map_err(error::client("listing extensions"))?.get(0);
    if has_extension {
        let made = client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm");
        made.map_err(error::client("creating the extension pg_prewarm"))?;
    }
    for table in tables {
        let what = || format!("reading {} into the shared buffers", table.name);
        if has_extension {
            let sql = "SELECT pg_prewarm($1::text::regclass), sum(pg_prewarm(indexrelid)) \
                       FROM pg_index WHERE indrelid = $1::text::regclass";
            client
                .query_one(sql, &[&table.name])
                .map_err(error::client(what()))?;
        } else {
            read_through_index(client, table)?;
        }
    }
    Ok(())
}

/// Reads all rows through the index: a sequential scan of a large table would use only a ring of 32
/// buffers.
///
/// # Errors
/// When the statement fails.
pub(crate) fn read_through_index(client: &mut Client, table: &Table) -> Result<(), Error> {
    let (first, last) = (table.key_min.to_string(), table.key_max.to_string());
    let sql = table.statement(&first, &last);
    let what = format!("reading {} into the shared buffers", table.name);
    client.query_one(&sql, &[]).map_err(error::client(what))?;
    Ok(())
}
