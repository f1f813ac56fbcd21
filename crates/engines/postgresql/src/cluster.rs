//! A throw-away cluster: created by `initdb` as an unprivileged user, and removed with everything
//! in it. The directory belongs to this process's user; its subdirectories data, socket and, if
//! fetched, the programs belong to the server's user. numalab writes only where no other user can
//! write.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use journal::Journal;
use linux::own_program::OwnProgram;
use server::{Server, ServerPlan, ServerUser, one_line};

use crate::cluster_settings::SETTINGS;
use crate::folders::Folders;
use crate::programs::{server_user, without_settings_of_others};
use crate::scratch_cluster::ScratchCluster;
use crate::scratch_server::{SUPERUSER, ScratchServer};
use crate::{Error, Installation, Places, fetched, installation};

/// Subdirectory of fetched programs.
const PROGRAMS: &str = "postgresql";

/// An existing cluster; removed on drop.
#[derive(Debug)]
pub(crate) struct Cluster {
    folders: Folders,
    installation: Installation,
    user: Option<ServerUser>,
}

impl Cluster {
    /// Creates a cluster in a directory below `parent`, with an installed PostgreSQL or, if
    /// requested, one fetched into that directory.
    ///
    /// # Errors
    /// When there is no PostgreSQL, the directory cannot be created or `initdb` fails; nothing is
    /// left behind then.
    pub(crate) fn create(places: &Places, parent: &Path, journal: &Journal) -> Result<Self, Error> {
        let user = server_user()?;
        let ids = user.map(|user| (user.uid, user.gid));
        let scratch = ScratchCluster::create(parent, 0, ids, journal)?;
        let installation = match &places.release {
            Some(release) => fetched::fetch(release, &scratch.give(PROGRAMS)?, user)?,
            None => installation::find(places)?,
        };
        let folders = Folders::make(scratch)?;
        let settings = folders.settings();
        std::fs::write(&settings, SETTINGS)
            .and_then(|()| open_to_all(&settings))
            .map_err(Error::io(format!("writing {}", settings.display())))?;
        let cluster = Cluster {
            folders,
            installation,
            user,
        };
        cluster.init()?;
        Ok(cluster)
    }

    fn init(&self) -> Result<(), Error> {
        let mut command = Command::new(self.installation.program("initdb"));
        command
            .arg("--pgdata")
            .arg(&self.folders.data)
            .args(["--auth", "trust", "--username", SUPERUSER, "--no-sync"])
            // What `initdb` leaves names the System V segment of a server that failed; numalab
            // removes both.
            .arg("--no-clean")
            // The C locale is built in, so no locale need be installed.
            .args(["--locale", "C", "--encoding", "UTF8"]);
        let output = self
            .as_user(&mut command)
            .output()
            .map_err(Error::io("running initdb"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Program {
            program: "initdb",
            status: format!("ended with {}", output.status),
            said: one_line(&output.stderr),
        })
    }

    /// Makes a command run as the server's user, in its directory, without settings of the caller.
    fn as_user<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.current_dir(&self.folders.data);
        ServerUser::runs(self.user, without_settings_of_others(command));
        command
    }
}

impl server::Cluster for Cluster {
    fn version(&self) -> server::Version {
        (&self.installation.version).into()
    }

    fn start(
        &self,
        plan: &ServerPlan,
        launcher: &OwnProgram,
    ) -> Result<Box<dyn Server>, server::Error> {
        let user = self.user.map(|user| (user.uid, user.gid));
        let program = self.installation.program("postgres");
        let server = ScratchServer::start(&self.folders, program, user, plan, launcher)?;
        Ok(Box::new(server))
    }
}

/// Makes a file readable for the server's user, whatever the umask.
fn open_to_all(path: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o644))
}
