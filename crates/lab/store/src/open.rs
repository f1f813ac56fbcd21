//! Opens a store without endangering its contents, and so that commits are durable.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use pglogin::ServerUrl;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::Error;
use crate::database::{Database, Server, Transaction, connect, set_and_read};
use crate::place::Place;
use crate::schema::{self, State};

/// A store of runs in one SQLite file, or in a schema of a PostgreSQL database.
#[derive(Debug)]
pub struct Store {
    pub(crate) place: Place,
    database: Database,
}

impl Store {
    /// Opens the store for writing; creates it, with the directories of a file, if missing.
    pub fn open(place: impl Into<Place>) -> Result<Self, Error> {
        match place.into() {
            Place::File(path) => Self::open_file(&path),
            Place::Server(url) => Self::open_server(&url, false),
        }
    }

    /// Opens the store for writing, and waits for a server that is away or busy: for what sends
    /// many runs, beside many others.
    pub fn open_patiently(place: impl Into<Place>) -> Result<Self, Error> {
        match place.into() {
            Place::File(path) => Self::open_file(&path),
            Place::Server(url) => Self::open_server(&url, true),
        }
    }

    /// Opens the store for reading, without creating anything: it must exist. A file may be on a
    /// read-only file system, a server may be a standby.
    ///
    /// This rolls back what a killed writer left unfinished in a file, so the file is opened for
    /// writing where that is possible.
    pub fn open_existing(place: impl Into<Place>) -> Result<Self, Error> {
        match place.into() {
            Place::File(path) => Self::open_existing_file(&path),
            Place::Server(url) => {
                let store = Self::connect(&url, false)?;
                match store.state()? {
                    State::Empty => Err(Error::NotThere { place: store.place }),
                    State::Current => Ok(store),
                    State::Older(found) => match store.migrate() {
                        Err(Error::NotWritable { place, .. }) => Err(Error::Outdated {
                            place,
                            found,
                            known: schema::VERSION,
                        }),
                        migrated => migrated.map(|()| store),
                    },
                }
            }
        }
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Reads in one transaction.
    pub(crate) fn read<T>(
        &self,
        work: impl Fn(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.database.read(&self.place, work)
    }

    /// Commits what `work` writes, or nothing.
    pub(crate) fn write<T>(
        &mut self,
        work: impl Fn(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.database.write(&self.place, work)
    }

    fn connect(url: &ServerUrl, is_patient: bool) -> Result<Self, Error> {
        let place = Place::Server(Box::new(url.clone()));
        let database = Database::Server(Box::new(Server::open(&place, url, is_patient)?));
        Ok(Store { place, database })
    }

    fn open_server(url: &ServerUrl, is_patient: bool) -> Result<Self, Error> {
        let store = Self::connect(url, is_patient)?;
        if store.state()? != State::Current {
            store.migrate()?;
        }
        Ok(store)
    }

    fn open_file(path: &Path) -> Result<Self, Error> {
        let path = absolute(path)?;
        if let Some(directory) = path.parent() {
            make_directory(directory)?;
        }
        let file = OpenFile::open(&path, OpenFlags::SQLITE_OPEN_CREATE)?;
        if file.is_read_only()? {
            return Err(Error::NotWritable {
                place: file.place,
                cause: "no permission, or a read-only file system".to_string(),
            });
        }
        file.prepare()
    }

    fn open_existing_file(path: &Path) -> Result<Self, Error> {
        let path = absolute(path)?;
        if !path.exists() {
            let place = Place::File(path);
            return Err(Error::NotThere { place });
        }
        let file = OpenFile::open(&path, OpenFlags::empty())?;
        match file.state()? {
            State::Empty => Err(Error::NotThere { place: file.place }),
            State::Older(found) if file.is_read_only()? => Err(Error::Outdated {
                place: file.place,
                found,
                known: schema::VERSION,
            }),
            State::Current if file.is_read_only()? => Ok(file.into_store()),
            State::Older(_) | State::Current => file.prepare(),
        }
    }

    fn state(&self) -> Result<State, Error> {
        self.read(schema::identify)
    }

    fn migrate(&self) -> Result<(), Error> {
        self.database.upgrade(&self.place, schema::migrate)
    }
}

/// A file that is open, and not changed yet.
struct OpenFile {
    /// Absolute, so that SQLite does not interpret it as a special name (`:memory:`).
    path: PathBuf,
    place: Place,
    connection: Connection,
}

impl OpenFile {
    fn open(path: &Path, create: OpenFlags) -> Result<Self, Error> {
        let place = Place::from(path);
        let connection = connect(path, create).map_err(|cause| Error::sqlite(&place, cause))?;
        let path = path.to_owned();
        Ok(OpenFile {
            path,
            place,
            connection,
        })
    }

    /// The state of the file, after checking that it is not truncated.
    fn state(&self) -> Result<State, Error> {
        let transaction = Transaction::File(&self.place, &self.connection);
        let state = schema::identify(&transaction)?;
        if state != State::Empty {
            schema::check_length(&self.path, &transaction)?;
        }
        Ok(state)
    }

    fn is_read_only(&self) -> Result<bool, Error> {
        let read_only = self.connection.is_readonly(MAIN_DB);
        read_only.map_err(|cause| Error::sqlite(&self.place, cause))
    }

    /// Upgrades the file to the current version and makes commits durable.
    fn prepare(self) -> Result<Store, Error> {
        let state = self.state()?;
        let store = self.into_store();
        if state != State::Current {
            store.migrate()?;
        }
        let Database::File(connection) = &store.database else {
            unreachable!("the store is a file")
        };
        let failed = |cause| Error::sqlite(&store.place, cause);
        // Switch a file back that someone switched to the write-ahead log.
        let journal = set_and_read(connection, "journal_mode", "DELETE").map_err(failed)?;
        let synchronous = set_and_read(connection, "synchronous", "EXTRA").map_err(failed)?;
        match (journal.as_str(), synchronous.as_str()) {
            // 3 is EXTRA, see <https://www.sqlite.org/pragma.html#pragma_synchronous>.
            ("delete", "3") => Ok(store),
            (journal, synchronous) => Err(Error::NotWritable {
                place: store.place.clone(),
                cause: format!(
                    "journal mode delete and synchronous 3 are needed, \
                     and SQLite stays at {journal} and {synchronous}"
                ),
            }),
        }
    }

    fn into_store(self) -> Store {
        Store {
            place: self.place,
            database: Database::File(self.connection),
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|cause| Error::NotWritable {
        place: path.into(),
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
