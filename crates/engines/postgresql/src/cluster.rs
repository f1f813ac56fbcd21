//! A throw-away cluster: made by `initdb` as a user that is not root, removed with all that is in
//! it. The folder stays ours, and has folders that are the server's: data, socket and, if they were
//! fetched, programs. What we write is written where only we can write.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use numa::journal::Journal;
use numa::scratch_cluster::ScratchCluster;

use crate::folders::Folders;
use crate::programs::{ServerUser, one_line, server_user, set_user, without_settings_of_others};
use crate::server::{SUPERUSER, Server};
use crate::{Error, Installation, Launcher, Places, ServerPlan, fetched, installation};

/// The folder of programs that were fetched.
const PROGRAMS: &str = "postgresql";

/// Settings that every server of ours has; docs/postgres.md says why.
const SETTINGS: &str = "\
# Written by numalab.
listen_addresses = ''
dynamic_shared_memory_type = mmap
autovacuum = off
jit = off
track_io_timing = off
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
max_wal_size = 16GB
fsync = off
synchronous_commit = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
enable_seqscan = off
enable_bitmapscan = off
plan_cache_mode = force_generic_plan
logging_collector = off
log_min_messages = warning
";

/// A cluster that exists; removed by [`Cluster::remove`], or when dropped.
#[derive(Debug)]
pub struct Cluster {
    folders: Folders,
    installation: Installation,
    user: Option<ServerUser>,
}

impl Cluster {
    /// Makes a cluster in a folder of its own below `parent`, of a PostgreSQL that is installed or,
    /// if so asked, is fetched into that folder. `number` tells several of one process apart.
    ///
    /// # Errors
    /// When there is no PostgreSQL, the folder cannot be made or `initdb` fails; nothing is left
    /// behind then.
    pub fn create(
        places: &Places,
        parent: &Path,
        number: u32,
        journal: &Journal,
    ) -> Result<Self, Error> {
        let user = server_user()?;
        let ids = user.map(|user| (user.uid, user.gid));
        let scratch = ScratchCluster::create(parent, number, ids, journal)?;
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
            // What it leaves names the System V segment of a server that failed; we remove both.
            .arg("--no-clean")
            // The C locale is built in: none need be installed.
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

    /// Has a command run as the user of the server, in its folder, without settings of the caller.
    fn as_user<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.current_dir(&self.folders.data);
        set_user(self.user, without_settings_of_others(command));
        command
    }

    /// Starts the server as the plan says, and waits until it answers.
    ///
    /// # Errors
    /// When it cannot be placed, or does not come up: with the end of its log.
    pub fn start(&self, plan: &ServerPlan, launcher: &Launcher) -> Result<Server, Error> {
        let user = self.user.map(|user| (user.uid, user.gid));
        let program = self.installation.program("postgres");
        Server::start(&self.folders, program, user, plan, launcher)
    }

    /// Which PostgreSQL it is.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Removes it.
    ///
    /// # Errors
    /// When something cannot be removed; it is in the journal then.
    pub fn remove(self) -> Result<(), Error> {
        self.folders.remove()
    }
}

/// Lets the server's user read a file of ours, whatever our umask.
fn open_to_all(path: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o644))
}
