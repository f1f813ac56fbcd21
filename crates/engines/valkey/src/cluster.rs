//! The folder that the throw-away servers of a run have in common.

use std::path::{Path, PathBuf};

use journal::Journal;
use linux::own_program::OwnProgram;
use model::ServerKind;
use model::exit::ExitCode;
use observed::ServerUser;
use server::{Error, ScratchFolder, Server, ServerPlan, Version};

use crate::installation::Installation;
use crate::scratch_server::ScratchServer;

/// Users to run a server as when this process is root, in this order.
const USERS: [&str; 3] = ["valkey", "redis", "nobody"];

/// What the servers of a run have in common; removed on drop.
#[derive(Debug)]
pub(crate) struct Cluster {
    kind: ServerKind,
    installation: Installation,
    user: Option<ServerUser>,
    folder: ScratchFolder,
    data: PathBuf,
}

impl Cluster {
    /// Creates the folder below `parent`; `named` is the database with the name of its process.
    ///
    /// # Errors
    /// When there is no user for it, or a folder cannot be created; nothing is left behind then.
    pub(crate) fn create(
        named: (ServerKind, &str),
        installation: Installation,
        parent: &Path,
        journal: &Journal,
    ) -> Result<Self, Error> {
        let user = server_user()?;
        let folder = ScratchFolder::create(named, parent, user, journal)?;
        let data = folder.give_data()?;
        Ok(Cluster {
            kind: named.0,
            installation,
            user,
            folder,
            data,
        })
    }
}

impl server::Cluster for Cluster {
    fn version(&self) -> Version {
        self.installation.version()
    }

    fn start(&self, plan: &ServerPlan, launcher: &OwnProgram) -> Result<Box<dyn Server>, Error> {
        let program = self.installation.program.clone();
        let log = self.folder.path().join("log");
        let server = ScratchServer::start(
            self.kind,
            program,
            self.user,
            (&self.data, log),
            plan,
            launcher,
        )?;
        Ok(Box::new(server))
    }
}

/// Returns the user to become; `None` if this process is not root and need not change.
pub(crate) fn server_user() -> Result<Option<ServerUser>, Error> {
    ServerUser::first_of(&USERS).map_err(|names| {
        let message = format!("there is no user {} to run a server as", names.join(", "));
        Error::new(ExitCode::Usage, message)
            .advise("create one of them, or run numalab as another user")
    })
}
