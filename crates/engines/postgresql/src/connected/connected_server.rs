//! Connects to a server that is already running.

use std::time::Duration;

use journal::Journal;
use linux::Root;
use model::{ServerKind, counted};
use pglogin::{Login, ServerUrl};
use postgres::Client;
use server::{ConnectOrder, Connected, Error, Loaded, Source, TablesPlan};

use super::schema::OwnSchema;
use super::their_table;
use crate::connection::LoadedTables;
use crate::kind::KIND;
use crate::login::{connect, find};
use crate::prewarm::read_through_index;
use crate::session::SETTINGS;
use crate::tables::Table;
use crate::version::version_of;
use model::exit::ExitCode;

use crate::Version;
use crate::error;

/// The first version that counts the reads of each session (`pg_stat_get_backend_io`).
const COUNTS_SESSIONS_SINCE: u32 = 18;
/// How often numalab looks who is active, with what time between.
const LOOKS: usize = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// So many looks that find others active are load.
const LOOKS_BUSY: usize = 3;

/// A connected server with tables to read.
pub(crate) struct ConnectedServer {
    login: Login,
    has_password: bool,
    version: Version,
    tables: Vec<Table>,
    /// The schema of the tables, if they are numalab's.
    schema: Option<OwnSchema>,
    /// `shared_buffers`.
    shared_buffers_bytes: u64,
    /// The postmaster, if the server is on this machine.
    postmaster: Option<u32>,
}

impl ConnectedServer {
    /// Connects, and looks the table up or creates the schema and fills its tables.
    ///
    /// # Errors
    /// When the URL is invalid, the server rejects the connection or is too old, the table cannot
    /// be measured, or the schema cannot be created; nothing is left behind then.
    pub(crate) fn open(order: &ConnectOrder, journal: &Journal) -> Result<Self, Error> {
        let is_read = matches!(order.source, Source::Table(_));
        let url = ServerUrl::parse(&order.url, is_read).map_err(error::login)?;
        let has_password = url.has_password();
        let (login, mut client) = find(url)?;
        let version = version_of(&mut client)?;
        if version.major < COUNTS_SESSIONS_SINCE {
            refuse_others(&mut client, &version)?;
        }
        let postmaster = postmaster(&mut client)?;
        let shared_buffers_bytes = shared_buffers(&mut client)?;
        let (tables, schema) = match &order.source {
            Source::Table(name) => {
                let table = their_table::look_up(&mut client, name, shared_buffers_bytes)?;
                (vec![table; order.sessions as usize], None)
            }
            Source::Schema(name) => {
                let load = TablesPlan {
                    sessions: order.sessions,
                    // A quarter, to leave the buffers that others need.
                    cache_bytes: shared_buffers_bytes / 4,
                    row_bytes: KIND.row_bytes(),
                };
                let (schema, tables) = OwnSchema::make(&mut client, &login, name, load, journal)?;
                (tables, Some(schema))
            }
        };
        Ok(ConnectedServer {
            login,
            has_password,
            version,
            tables,
            schema,
            shared_buffers_bytes,
            postmaster,
        })
    }
}

impl Connected for ConnectedServer {
    fn kind(&self) -> ServerKind {
        KIND
    }

    fn version(&self) -> server::Version {
        (&self.version).into()
    }

    fn cache_bytes(&self) -> u64 {
        self.shared_buffers_bytes
    }

    fn is_on_this_machine(&self) -> bool {
        self.postmaster.is_some()
    }

    fn warnings(&self) -> Vec<String> {
        let warning = "every user of this machine can read the password in --connect, as long as \
                       numalab runs (ps): use PGPASSWORD, or ~/.pgpass";
        self.has_password
            .then(|| warning.to_owned())
            .into_iter()
            .collect()
    }

    fn load(&self) -> Result<Box<dyn Loaded>, Error> {
        let mut client = connect(&self.login)?;
        client
            .batch_execute(SETTINGS)
            .map_err(error::client("preparing the session"))?;
        for table in &self.tables {
            read_through_index(&mut client, table)?;
        }
        let loaded = LoadedTables::theirs(
            client,
            self.version.clone(),
            self.tables.clone(),
            self.login.clone(),
            self.postmaster,
        )?;
        Ok(Box::new(loaded))
    }

    fn close(mut self: Box<Self>) -> Result<(), Error> {
        self.schema.take().map_or(Ok(()), OwnSchema::remove)
    }
}

/// Fails if others work in the database: before PostgreSQL 18 its counters are those of all
/// sessions. A single look may meet a query of a monitoring program. To roles without
/// pg_read_all_stats the server does not say who is active: their trials are invalid instead.
fn refuse_others(client: &mut Client, version: &Version) -> Result<(), Error> {
    let sql = "SELECT count(*) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid() \
               AND backend_type = 'client backend' AND state = 'active'";
    let mut active: Vec<i64> = Vec::new();
    for _ in 0..LOOKS {
        let row = client.query_one(sql, &[]);
        active.push(row.map_err(error::client("asking who is active"))?.get(0));
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let most = active.iter().max().copied().unwrap_or(0);
    match active.iter().filter(|count| **count > 0).count() {
        0..LOOKS_BUSY => Ok(()),
        _ => {
            let (version, found) = (&version.text, counted(most, "active session"));
            let message = format!(
                "other sessions work in this database ({found}), and PostgreSQL {version} counts \
                 their reads together with numalab's: no trial would be valid"
            );
            Err(Error::new(ExitCode::NotFit, message).advise(
                "measure when nobody else works in this database, with PostgreSQL 18 or later, or \
                 a copy: numalab run with an experiment of its own server",
            ))
        }
    }
}

/// Returns the postmaster if the backend of a connection is a process of this machine: the
/// connection uses a socket or the loopback address, and the process with its PID is named
/// `postgres`.
fn postmaster(client: &mut Client) -> Result<Option<u32>, Error> {
    let sql = "SELECT pg_backend_pid(), coalesce(host(inet_server_addr()), '')";
    let row = client.query_one(sql, &[]);
    let row = row.map_err(error::client("asking for the backend"))?;
    let (pid, address): (i32, String) = (row.get(0), row.get(1));
    if !["", "127.0.0.1", "::1"].contains(&address.as_str()) {
        return Ok(None);
    }
    let stat = linux::proc_stat::read(&Root::live(), pid.unsigned_abs()).ok();
    Ok(stat
        .filter(|stat| stat.name == "postgres")
        .map(|stat| stat.parent))
}

fn shared_buffers(client: &mut Client) -> Result<u64, Error> {
    let sql = "SELECT setting::bigint * current_setting('block_size')::bigint \
               FROM pg_settings WHERE name = 'shared_buffers'";
    let row = client.query_one(sql, &[]);
    let row = row.map_err(error::client("asking for the size of the shared buffers"))?;
    Ok(row.get::<_, i64>(0).unsigned_abs())
}
