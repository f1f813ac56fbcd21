//! A table of the user's that the load can read like its own.

use model::{ByteSize, counted};
use postgres::Client;
use postgres::error::SqlState;
use server::Error;

use crate::error::{self, unfit_table};
use crate::tables::{Table, Values};

/// Looks up a table that the load can read. It must have an index that finds one row for each key,
/// and no gap between keys, so that a range of keys has as many rows. It must fit in the shared
/// buffers.
///
/// # Errors
/// When there is no such table, it has no such index or keys, or the role may not read it.
pub(super) fn look_up(
    client: &mut Client,
    name: &str,
    shared_buffers_bytes: u64,
) -> Result<Table, Error> {
    let what = || error::client(format!("looking at table {name}"));
    let sql = "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), \
                      quote_ident(a.attname), \
                      pg_relation_size(c.oid) + pg_relation_size(indexrelid) \
                 FROM pg_index JOIN pg_class c ON c.oid = indrelid \
                 JOIN pg_namespace n ON n.oid = c.relnamespace \
                 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = indkey[0] \
                 JOIN pg_class i ON i.oid = indexrelid JOIN pg_am ON pg_am.oid = i.relam \
                WHERE c.oid = $1::text::regclass AND c.relkind IN ('r', 'm') \
                  AND indisunique AND indisvalid AND indnkeyatts = 1 AND indpred IS NULL \
                  AND indexprs IS NULL AND amname = 'btree' \
                  AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) \
                ORDER BY NOT indisprimary, indexrelid LIMIT 1";
    let row = client.query_opt(sql, &[&name]).map_err(|cause| {
        if cause.code() == Some(&SqlState::UNDEFINED_TABLE) {
            unfit_table("one that is there", &format!("none named {name}"))
        } else {
            what()(cause)
        }
    })?;
    let row = row.ok_or_else(|| {
        let expected = "a unique index on one column of whole numbers";
        unfit_table(expected, &format!("none on {name}"))
    })?;
    let (name, key): (String, String) = (row.get(0), row.get(1));
    let bytes = row.get::<_, i64>(2).unsigned_abs();
    if bytes > shared_buffers_bytes {
        let (limit, bytes) = (ByteSize(shared_buffers_bytes), ByteSize(bytes));
        let expected = format!("at most {limit} with its index, which is shared_buffers");
        return Err(unfit_table(&expected, &format!("{bytes} in {name}")));
    }
    let sql = format!("SELECT min({key})::bigint, max({key})::bigint, count(*) FROM {name}");
    let row = client.query_one(&sql, &[]).map_err(what())?;
    let ends: (Option<i64>, Option<i64>) = (row.get(0), row.get(1));
    let rows = row.get::<_, i64>(2).unsigned_abs();
    match ends {
        (Some(key_min), Some(key_max)) if key_max.abs_diff(key_min) + 1 == rows => Ok(Table {
            sum: format!("max({key})"),
            name,
            key,
            key_min,
            key_max,
            values: Values::LastKey,
        }),
        (Some(low), Some(high)) => {
            let expected = format!("a row for each key from {low} to {high}");
            let found = format!("{} in {name}", counted(rows, "row"));
            Err(unfit_table(&expected, &found))
        }
        _ => Err(unfit_table("rows", &format!("none in {name}"))),
    }
}
