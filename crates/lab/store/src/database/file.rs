//! Opens SQLite's file without changing it.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

/// How long a writer waits for another process's transaction, which takes milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection without any changes yet.
///
/// `SQLITE_OPEN_URI` stays off, so that a path that begins with `file:` is a path. With
/// `SQLITE_OPEN_READ_WRITE`, SQLite opens a write-protected file for reading.
pub(crate) fn connect(path: &Path, create: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // The file may come from anywhere: its schema must not call functions, and its pages are
    // checked when they are read.
    connection.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;",
    )?;
    Ok(connection)
}

/// Sets a pragma; returns what it is then.
pub(crate) fn set_and_read(
    connection: &Connection,
    pragma: &str,
    value: &str,
) -> rusqlite::Result<String> {
    let run = |sql: String| {
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let row = rows.next()?;
        row.map(|row| row.get::<_, Value>(0)).transpose()
    };
    run(format!("PRAGMA {pragma} = {value}"))?;
    Ok(match run(format!("PRAGMA {pragma}"))? {
        Some(Value::Text(text)) => text,
        Some(Value::Integer(number)) => number.to_string(),
        _ => "nothing".to_string(),
    })
}
