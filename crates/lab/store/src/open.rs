//! Opens the store's file without endangering its contents, and so that commits are durable.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::Error;
use crate::schema::{self, State};

/// How long a writer waits for another process's transaction, which takes milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A store of runs in one SQLite file.
#[derive(Debug)]
pub struct Store {
    /// Absolute, so that SQLite does not interpret it as a special name (`:memory:`).
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
}

impl Store {
    /// Opens the store at `path` for writing; creates it and its directories if missing.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let path = absolute(path)?;
        if let Some(directory) = path.parent() {
            make_directory(directory)?;
        }
        let connection = connect(&path, OpenFlags::SQLITE_OPEN_CREATE)?;
        let mut store = Store { path, connection };
        if store.is_read_only()? {
            return Err(Error::NotWritable {
                path: store.path,
                cause: "no permission, or a read-only file system".to_string(),
            });
        }
        store.prepare()?;
        Ok(store)
    }

    /// Opens the store at `path` for reading, without creating anything: the file must exist, and
    /// may be on a read-only file system.
    ///
    /// This rolls back what a killed writer left unfinished, so the file is opened for writing
    /// where that is possible.
    pub fn open_existing(path: &Path) -> Result<Self, Error> {
        let path = absolute(path)?;
        if !path.exists() {
            return Err(Error::NotThere { path });
        }
        let connection = connect(&path, OpenFlags::empty())?;
        let mut store = Store { path, connection };
        match store.state()? {
            State::Empty => Err(Error::NotThere { path: store.path }),
            State::Older(found) if store.is_read_only()? => Err(Error::Outdated {
                path: store.path,
                found,
                known: schema::VERSION,
            }),
            State::Current if store.is_read_only()? => Ok(store),
            State::Older(_) | State::Current => {
                store.prepare()?;
                Ok(store)
            }
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state of the file, after checking that it is not truncated.
    fn state(&self) -> Result<State, Error> {
        let state = schema::identify(&self.path, &self.connection)?;
        if state != State::Empty {
            schema::check_length(&self.path, &self.connection)?;
        }
        Ok(state)
    }

    fn is_read_only(&self) -> Result<bool, Error> {
        let read_only = self.connection.is_readonly(MAIN_DB);
        read_only.map_err(|cause| Error::sqlite(&self.path, cause))
    }

    /// Upgrades the file to the current version and makes commits durable.
    fn prepare(&mut self) -> Result<(), Error> {
        if self.state()? != State::Current {
            schema::migrate(&self.path, &mut self.connection)?;
        }
        // Switch a file back that someone switched to the write-ahead log.
        let journal = self.set_and_read("journal_mode", "DELETE");
        let synchronous = self.set_and_read("synchronous", "EXTRA");
        match (journal?.as_str(), synchronous?.as_str()) {
            // 3 is EXTRA, see <https://www.sqlite.org/pragma.html#pragma_synchronous>.
            ("delete", "3") => Ok(()),
            (journal, synchronous) => Err(Error::NotWritable {
                path: self.path.clone(),
                cause: format!(
                    "journal mode delete and synchronous 3 are needed, \
                     and SQLite stays at {journal} and {synchronous}"
                ),
            }),
        }
    }

    fn set_and_read(&self, pragma: &str, value: &str) -> Result<String, Error> {
        let failed = |cause| Error::sqlite(&self.path, cause);
        let run = |sql: String| {
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query([])?;
            let row = rows.next()?;
            row.map(|row| row.get::<_, rusqlite::types::Value>(0))
                .transpose()
        };
        run(format!("PRAGMA {pragma} = {value}")).map_err(failed)?;
        let value = run(format!("PRAGMA {pragma}")).map_err(failed)?;
        Ok(match value {
            Some(rusqlite::types::Value::Text(text)) => text,
            Some(rusqlite::types::Value::Integer(number)) => number.to_string(),
            _ => "nothing".to_string(),
        })
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|cause| Error::NotWritable {
        path: path.to_path_buf(),
        cause: cause.to_string(),
    })
}

/// Creates the directory and its parents, for this user only. Does not change existing ones.
fn make_directory(directory: &Path) -> Result<(), Error> {
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    made.map_err(|cause| Error::Directory {
        directory: directory.to_path_buf(),
        cause,
    })
}

/// A connection without any changes yet.
///
/// `SQLITE_OPEN_URI` stays off, so that a path that begins with `file:` is a path. With
/// `SQLITE_OPEN_READ_WRITE`, SQLite opens a write-protected file for reading.
fn connect(path: &Path, create: OpenFlags) -> Result<Connection, Error> {
    let failed = |cause| Error::sqlite(path, cause);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    // The file may come from anywhere: its schema must not call functions, and its pages are
    // checked when they are read.
    connection
        .execute_batch(
            "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;",
        )
        .map_err(failed)?;
    Ok(connection)
}
