//! A running server: started under its placement, stopped on drop.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use linux::own_program::OwnProgram;
use observed::ServerUser;
use pglogin::Login;
use server::{
    Error, Loaded, Server, ServerCommand, ServerPlan, ServerProcess, StopSignal, TablesPlan,
    settings_beside,
};

use crate::cluster_settings::SETTINGS;
use crate::connection::LoadedTables;
use crate::folders::Folders;
use crate::kind::KIND;
use crate::login::connect;
use crate::programs::without_settings_of_others;

/// The superuser of a throw-away cluster.
pub(crate) const SUPERUSER: &str = "numalab";
/// Timeout for a server to accept a connection; generous, since emulated machines are slow.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(120);
/// Timeout for a server to end after an immediate shutdown request; it kills its processes itself
/// after 5 s (postmaster.c, `SIGKILL_CHILDREN_AFTER_SECS`).
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// Room in the shared buffers for catalogs.
const CATALOG_BYTES: u64 = 32 << 20;
/// Room for indexes, as a fraction of the tables: 20 bytes (entry 16, line pointer 4) per block,
/// with ample reserve.
const INDEX_SHARE: u64 = 64;

/// A running server; stopped on drop.
#[derive(Debug)]
pub(crate) struct ScratchServer {
    /// The postmaster. Its processes have separate process groups, and end with it.
    postmaster: ServerProcess,
    socket: PathBuf,
}

impl ScratchServer {
    pub(crate) fn start(
        folders: &Folders,
        program: PathBuf,
        user: Option<ServerUser>,
        plan: &ServerPlan,
        launcher: &OwnProgram,
    ) -> Result<Self, Error> {
        let postmaster = ServerProcess::start(
            KIND,
            launcher,
            &plan.placed,
            command(folders, program, plan)?,
            user,
            (&folders.data, folders.log()),
            without_settings_of_others,
        )?;
        let mut server = ScratchServer {
            postmaster,
            socket: folders.socket.clone(),
        };
        let login = server.login();
        server
            .postmaster
            .wait_until(CONNECT_WITHIN, || connect(&login))?;
        Ok(server)
    }

    /// Returns what to connect with, as superuser.
    fn login(&self) -> Login {
        let mut config = tokio_postgres::Config::new();
        config
            .host_path(&self.socket)
            .user(SUPERUSER)
            .dbname("postgres")
            .connect_timeout(CONNECT_WITHIN);
        Login::new(config)
    }
}

impl Server for ScratchServer {
    fn load(&self, plan: &ServerPlan, seed: u64) -> Result<Box<dyn Loaded>, Error> {
        let login = self.login();
        let client = connect(&login)?;
        let postmaster = self.postmaster.pid();
        let loaded = LoadedTables::ours(client, login, postmaster, plan, seed)?;
        Ok(Box::new(loaded))
    }

    fn ended(&mut self) -> Option<Error> {
        self.postmaster.ended()
    }
}

impl Drop for ScratchServer {
    fn drop(&mut self) {
        // Immediate shutdown: nothing of this server is needed any more.
        self.postmaster.stop(ENDS_WITHIN);
    }
}

/// Returns `shared_buffers` in blocks.
fn shared_buffers(tables: &TablesPlan) -> u64 {
    let bytes = tables.cache_bytes + tables.cache_bytes / INDEX_SHARE + CATALOG_BYTES;
    bytes.div_ceil(KIND.row_bytes())
}

/// Returns the server's command line: the settings that vary from case to case.
fn command(folders: &Folders, program: PathBuf, plan: &ServerPlan) -> Result<ServerCommand, Error> {
    let mut words: Vec<OsString> = vec![program.into(), "-D".into(), folders.data.clone().into()];
    let socket = folders.socket.display();
    let huge_pages = if plan.huge_pages { "on" } else { "off" };
    let settings = [
        // The setting is a list; double quotes keep a path with a comma in one piece.
        ("unix_socket_directories", format!("\"{socket}\"")),
        ("config_file", folders.settings().display().to_string()),
        ("shared_buffers", shared_buffers(&plan.tables).to_string()),
        ("huge_pages", huge_pages.to_owned()),
        ("max_connections", (plan.tables.sessions + 10).to_string()),
    ];
    let of_file = SETTINGS
        .lines()
        .filter_map(|line| Some(line.split_once(" = ")?.0));
    let own = settings.iter().map(|(name, _)| *name).chain(of_file);
    let others = settings_beside(plan, own)?;
    let own = settings.iter().map(|(name, value)| (*name, value.as_str()));
    for (name, value) in own.chain(others) {
        words.push("-c".into());
        words.push(format!("{name}={value}").into());
    }
    // Immediate shutdown: the postmaster ends its processes.
    let stop = StopSignal::Quit;
    Ok(ServerCommand { words, stop })
}
