//! A throw-away cluster: created by `initdb` as an unprivileged user, and removed with everything
//! in it. The directory belongs to this process's user; its subdirectories data, socket and, if
//! fetched, the programs belong to the server's user. numalab writes only where no other user can
//! write.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use journal::Journal;
use linux::own_program::OwnProgram;
use observed::{Program, ServerUser, one_line};
use server::{Error, ScratchFolder, Server, ServerPlan};

use crate::cluster_settings::SETTINGS;
use crate::folders::Folders;
use crate::kind::KIND;
use crate::programs::{server_user, without_settings_of_others};
use crate::scratch_cluster::ClusterMade;
use crate::scratch_server::{SUPERUSER, ScratchServer};
use crate::{Installation, Places, fetched, installation};

/// `initdb` writes 40 MB and syncs nothing.
const INIT_WITHIN: Duration = Duration::from_secs(600);
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
        let made = |directory| ClusterMade { directory };
        let scratch = ScratchFolder::make(KIND, parent, user, journal, made)?;
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
        let initdb = Program::installed(self.installation.program("initdb"), self.user)
            .with(without_settings_of_others)
            .in_folder(&self.folders.data)
            .within(INIT_WITHIN)
            .args(["--pgdata".as_ref(), self.folders.data.as_os_str()])
            .args(["--auth", "trust", "--username", SUPERUSER, "--no-sync"])
            // What `initdb` leaves names the System V segment of a server that failed; numalab
            // removes both.
            .args(["--no-clean"])
            // The C locale is built in, so no locale need be installed.
            .args(["--locale", "C", "--encoding", "UTF8"]);
        let output = initdb.answer()?;
        if output.status.success() {
            return Ok(());
        }
        let (status, said) = (output.status, one_line(&output.stderr));
        Err(Error::failed(format!("initdb ended with {status}: {said}")))
    }
}

impl server::Cluster for Cluster {
    fn version(&self) -> server::Version {
        (&self.installation.version).into()
    }

    fn start(&self, plan: &ServerPlan, launcher: &OwnProgram) -> Result<Box<dyn Server>, Error> {
        let program = self.installation.program("postgres");
        let server = ScratchServer::start(&self.folders, program, self.user, plan, launcher)?;
        Ok(Box::new(server))
    }
}

/// Makes a file readable for the server's user, whatever the umask.
fn open_to_all(path: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o644))
}
