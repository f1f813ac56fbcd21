//! Connects to a server that is already running, and measures it.

use journal::Journal;
use linux::Root;
use model::CalibrationPoint;
use postgres::Client;

use super::schema::OwnSchema;
use super::their_table;
use super::url::{config, connect};
use crate::calibration::sweep;
use crate::connection::Loaded;
use crate::prewarm::read_through_index;
use crate::session::SETTINGS;
use crate::tables::Table;
use crate::trial::measure;
use crate::version::version_of;
use crate::{CalibrationOrder, Error, TablesPlan, TrialOrder, TrialResult, Version, Watch};

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A table of the user's, read by all sessions; nothing is written.
    Table(String),
    /// A table of numalab's for each session, in a schema created for them and dropped afterwards.
    Schema(String),
}

/// A server and what to read there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectOrder {
    /// `postgresql://ROLE@HOST:PORT/DATABASE`, or `host=… user=…`.
    pub url: String,
    /// What to read.
    pub source: Source,
    /// Sessions that read.
    pub sessions: u32,
}

/// A connected server with tables to read.
pub struct Connected {
    config: postgres::Config,
    version: Version,
    tables: Vec<Table>,
    /// The schema of the tables, if they are numalab's.
    schema: Option<OwnSchema>,
    /// `shared_buffers`.
    pub shared_buffers_bytes: u64,
    /// The postmaster, if the server is on this machine.
    postmaster: Option<u32>,
}

impl Connected {
    /// Connects, and looks the table up or creates the schema and fills its tables.
    ///
    /// # Errors
    /// When the URL is invalid, the server rejects the connection or is too old, the table cannot
    /// be measured, or the schema cannot be created; nothing is left behind then.
    pub fn open(order: &ConnectOrder, journal: &Journal) -> Result<Self, Error> {
        let config = config(&order.url, matches!(order.source, Source::Table(_)))?;
        let mut client = connect(&config)?;
        let version = version_of(&mut client)?;
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
                };
                let (schema, tables) =
                    OwnSchema::make(&mut client, &config, &order.url, name, load, journal)?;
                (tables, Some(schema))
            }
        };
        Ok(Connected {
            config,
            version,
            tables,
            schema,
            shared_buffers_bytes,
            postmaster,
        })
    }

    /// Returns whether the server is on this machine, so that its processes and memory can be
    /// inspected.
    pub fn is_on_this_machine(&self) -> bool {
        self.postmaster.is_some()
    }

    /// Returns the version of the server.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Measures the rates of work units with one session.
    ///
    /// # Errors
    /// When the sweep fails; [`Error::Cancelled`].
    pub fn calibrate(
        &self,
        order: &CalibrationOrder,
        on_point: &mut dyn FnMut(CalibrationPoint),
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let mut loaded = self.load()?;
        // The work unit applies to all tables, including those that the one session does not read.
        let rows = loaded.tables.iter().map(Table::rows).min().unwrap_or(0);
        let order = CalibrationOrder {
            work_unit_max: u32::try_from(rows)
                .map_or(order.work_unit_max, |rows| rows.min(order.work_unit_max)),
            ..*order
        };
        loaded.tables.truncate(1);
        sweep(&mut loaded, &order, on_point, watch)
    }

    /// Runs a trial.
    ///
    /// # Errors
    /// As for [`crate::run_trial`].
    pub fn trial(&self, order: &TrialOrder, watch: &mut Watch<'_>) -> Result<TrialResult, Error> {
        measure(&Root::live(), &mut self.load()?, order, watch)
    }

    /// Connects and reads all tables into the shared buffers.
    fn load(&self) -> Result<Loaded, Error> {
        let mut client = connect(&self.config)?;
        client
            .batch_execute(SETTINGS)
            .map_err(Error::client("preparing the session"))?;
        for table in &self.tables {
            read_through_index(&mut client, table)?;
        }
        Loaded::theirs(
            client,
            self.version.clone(),
            self.tables.clone(),
            self.config.clone(),
            self.postmaster,
        )
    }

    /// Drops the schema, if one was created.
    ///
    /// # Errors
    /// When the server does not drop it; it is still in the journal then.
    pub fn close(mut self) -> Result<(), Error> {
        self.schema.take().map_or(Ok(()), OwnSchema::remove)
    }
}

/// Returns the postmaster if the backend of a connection is a process of this machine: the
/// connection uses a socket or the loopback address, and the process with its PID is named
/// `postgres`.
fn postmaster(client: &mut Client) -> Result<Option<u32>, Error> {
    let sql = "SELECT pg_backend_pid(), coalesce(host(inet_server_addr()), '')";
    let row = client.query_one(sql, &[]);
    let row = row.map_err(Error::client("asking for the backend"))?;
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
    let row = row.map_err(Error::client("asking for the size of the shared buffers"))?;
    Ok(row.get::<_, i64>(0).unsigned_abs())
}
