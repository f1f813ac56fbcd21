//! What the servers of a run have in common: a folder with a data directory, and the tables in it,
//! which one server makes and the following ones only read.

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::Path;

use journal::Journal;
use linux::own_program::OwnProgram;
use observed::ServerUser;
use server::{Error, ScratchFolder, Server, ServerPlan, TablesPlan, Version};

use crate::installation::{self, Installation};
use crate::kind::{KIND, PROGRAM};
use crate::scratch_server::ScratchServer;
use crate::settings::{Mode, Places};
use crate::tables::{self, Table};
use crate::user::server_user;

/// The directory of the socket.
const SOCKET: &str = "socket";

/// An existing folder; removed on drop.
#[derive(Debug)]
pub(crate) struct Cluster {
    places: Places,
    user: Option<ServerUser>,
    installation: Installation,
    /// The tables that are in the data directory.
    tables: Cell<Option<TablesPlan>>,
    /// Removed last.
    _folder: ScratchFolder,
}

impl Cluster {
    /// Creates a folder below `parent`, for an installed MariaDB.
    ///
    /// # Errors
    /// When there is no MariaDB, or the folder cannot be created; nothing is left behind then.
    pub(crate) fn create(
        path: Option<&OsStr>,
        parent: &Path,
        journal: &Journal,
    ) -> Result<Self, Error> {
        let installation = installation::find(path)?;
        let user = server_user()?;
        let folder = ScratchFolder::create((KIND, PROGRAM), parent, user, journal)?;
        let places = Places {
            program: installation.program.clone(),
            data: folder.give_data()?,
            socket: folder.give(SOCKET)?.join("s"),
            log: folder.path().join("log"),
        };
        Ok(Cluster {
            places,
            user,
            installation,
            tables: Cell::new(None),
            _folder: folder,
        })
    }

    /// Makes the tables of a plan, unless they are there.
    fn make_tables(&self, plan: &ServerPlan, launcher: &OwnProgram) -> Result<(), Error> {
        if self.tables.get() == Some(plan.tables) {
            return Ok(());
        }
        self.tables.set(None);
        let mut server = self.server(plan, Mode::Loads, launcher)?;
        let made = server
            .connect()
            .and_then(|mut client| tables::make(&mut client, &Table::all(&plan.tables)));
        made.map_err(|error| server.reason(error))?;
        server.end()?;
        self.tables.set(Some(plan.tables));
        Ok(())
    }

    fn server(
        &self,
        plan: &ServerPlan,
        mode: Mode,
        launcher: &OwnProgram,
    ) -> Result<ScratchServer, Error> {
        ScratchServer::start(&self.places, self.user, (plan, mode), launcher)
    }
}

impl server::Cluster for Cluster {
    fn version(&self) -> Version {
        Version {
            text: self.installation.version.clone(),
            remark: self.installation.remark(),
        }
    }

    fn start(&self, plan: &ServerPlan, launcher: &OwnProgram) -> Result<Box<dyn Server>, Error> {
        self.make_tables(plan, launcher)?;
        Ok(Box::new(self.server(plan, Mode::Reads, launcher)?))
    }
}
