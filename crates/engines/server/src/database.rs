//! The door: what a database implements so that its servers can be measured.

use std::path::Path;

use journal::Journal;
use linux::own_program::OwnProgram;
use model::{Relations, Residency, ServerKind, ServerSettings};
use residency::instances::{ServerTarget, Target};

use crate::{Error, Loaded, ServerPlan, WorkCounters};

/// A database of which numalab can start servers, and measure running ones.
pub trait Database {
    /// Returns which database it is.
    fn kind(&self) -> ServerKind;

    /// Returns why no server can be started on this machine, and what would help; `None` when one
    /// can.
    fn missing(&self) -> Option<String>;

    /// Creates what the servers of a run have in common, such as a data directory, below `folder`.
    /// It goes when the value is dropped, and is in the journal until then.
    ///
    /// # Errors
    /// When there is no installation, or something cannot be created; nothing is left behind then.
    fn create(&self, folder: &Path, journal: &Journal) -> Result<Box<dyn Cluster>, Error>;

    /// Connects to a running server; `None` if the URL is not one of this database.
    fn connect(
        &self,
        _order: &ConnectOrder,
        _journal: &Journal,
    ) -> Option<Result<Box<dyn Connected>, Error>> {
        None
    }

    /// Asks a running server, the process `pid`, for its settings that matter for placement; `None`
    /// if the target does not name one of this database, or numalab asks for none.
    fn settings(&self, _target: &ServerTarget, _pid: u32) -> Option<Result<ServerSettings, Error>> {
        None
    }

    /// Connects to a running server, the process `pid`, to read how much work it has done; `None`
    /// if the target does not name one of this database. `role`: as this one, where a server has
    /// roles; `None`: the one named like the connecting user.
    fn work(
        &self,
        _target: &Target,
        _pid: u32,
        _role: Option<&str>,
    ) -> Option<Result<Box<dyn WorkCounters>, Error>> {
        None
    }

    /// Finds which node holds which table of a running server, the process `pid`; `None` if the
    /// target does not name one of this database, or numalab cannot tell. `with_view` compares with
    /// the server's own view of its cache, whatever that costs the server.
    fn relations(
        &self,
        _target: &ServerTarget,
        _pid: u32,
        _residency: &Residency,
        _with_view: bool,
    ) -> Option<Result<Relations, Error>> {
        None
    }

    /// Returns whether each session has a process or thread of its own in the server that also
    /// draws its statements, so that its time is CPU, run queue or a wait. Otherwise the time of
    /// sessions is not judged: where one thread serves all, or a client sends each statement.
    fn accounts_for_time(&self) -> bool {
        true
    }
}

/// What the servers of a run have in common; removed on drop.
pub trait Cluster {
    /// Returns the version of its servers.
    fn version(&self) -> Version;

    /// Starts a server under its placement, and waits until it answers.
    ///
    /// # Errors
    /// When it cannot be placed, or does not come up; includes the end of its log.
    fn start(&self, plan: &ServerPlan, launcher: &OwnProgram) -> Result<Box<dyn Server>, Error>;
}

/// A running server of numalab's; stopped on drop.
pub trait Server {
    /// Makes the tables of the load and reads them into the cache.
    ///
    /// # Errors
    /// When a statement or the binding fails.
    fn load(&self, plan: &ServerPlan, seed: u64) -> Result<Box<dyn Loaded>, Error>;

    /// Returns why the server ended, if it has ended.
    fn ended(&mut self) -> Option<Error>;
}

/// A server that is already running, measured as it is.
pub trait Connected {
    /// Returns which database it is.
    fn kind(&self) -> ServerKind;

    /// Returns its version.
    fn version(&self) -> Version;

    /// Returns the size of its cache.
    fn cache_bytes(&self) -> u64;

    /// Returns whether the server is on this machine, so that its processes and memory can be
    /// inspected.
    fn is_on_this_machine(&self) -> bool;

    /// Returns the same as [`Database::accounts_for_time`], for this server.
    fn accounts_for_time(&self) -> bool {
        self.is_on_this_machine()
    }

    /// What the user should know of the way to connect, as soon as that succeeded.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Connects, and reads all tables into the cache.
    ///
    /// # Errors
    /// When a statement fails.
    fn load(&self) -> Result<Box<dyn Loaded>, Error>;

    /// Removes what was created on the server.
    ///
    /// # Errors
    /// When the server refuses; what is left is in the journal then.
    fn close(self: Box<Self>) -> Result<(), Error>;
}

/// The version of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The version, as the server reports it.
    pub text: String,
    /// What has to be said of it with every trial, if anything.
    pub remark: Option<String>,
}

/// A running server, and what to read there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectOrder {
    /// The URL: `postgresql://ROLE@HOST:PORT/DATABASE`.
    pub url: String,
    /// What to read.
    pub source: Source,
    /// Sessions that read.
    pub sessions: u32,
}

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A table of the user's, read by all sessions; nothing is written.
    Table(String),
    /// A table of numalab's for each session, in a schema created for them and dropped afterwards.
    Schema(String),
}
