//! A running server: started under its placement, stopped on drop.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use linux::own_program::OwnProgram;
use model::ServerKind;
use model::exit::ExitCode;
use observed::ServerUser;
use server::{
    Error, Loaded, Server, ServerCommand, ServerPlan, ServerProcess, StopSignal, settings_beside,
};

use crate::client::Client;
use crate::loaded::LoadedKeys;

/// Timeout for a server to accept a connection; generous, since emulated machines are slow.
const CONNECT_WITHIN: Duration = Duration::from_secs(120);
/// Timeout for a server to end: it saves nothing.
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// The name of its socket in the data directory. A path may have 107 bytes (unix(7)), so the client
/// names it in full and the server, which works there, does not.
const SOCKET: &str = "socket";

/// Settings of every server that numalab starts; docs/valkey.md explains them.
const SETTINGS: [(&str, &str); 9] = [
    ("port", "0"),
    ("unixsocketperm", "777"),
    ("save", ""),
    ("appendonly", "no"),
    ("daemonize", "no"),
    ("maxmemory", "0"),
    ("activerehashing", "no"),
    ("timeout", "0"),
    ("set-proc-title", "no"),
];

/// A running server.
#[derive(Debug)]
pub(crate) struct ScratchServer {
    kind: ServerKind,
    process: ServerProcess,
    socket: PathBuf,
}

impl ScratchServer {
    /// Starts a server in the data directory, and waits until it answers.
    ///
    /// # Errors
    /// When the plan asks for what it has not, or it does not come up.
    pub(crate) fn start(
        kind: ServerKind,
        program: PathBuf,
        user: Option<ServerUser>,
        (data, log): (&Path, PathBuf),
        plan: &ServerPlan,
        launcher: &OwnProgram,
    ) -> Result<Self, Error> {
        let name = kind.name();
        if plan.huge_pages {
            let message = format!("{name} has no memory in a pool of huge pages");
            return Err(Error::new(ExitCode::Usage, message).advise("leave page-size out"));
        }
        if plan.placed.prewarm_cpus.is_some() {
            let message = format!("one thread of {name} touches all memory first");
            return Err(Error::new(ExitCode::Usage, message).advise("leave prewarm-cpus out"));
        }
        let process = ServerProcess::start(
            kind,
            launcher,
            &plan.placed,
            command(program, plan)?,
            user,
            (data, log),
            |command| command.env("LC_ALL", "C"),
        )?;
        let socket = data.join(SOCKET);
        let mut server = ScratchServer {
            kind,
            process,
            socket,
        };
        let socket = server.socket.clone();
        let answers = || Client::connect(&socket)?.ask(&[b"PING"]);
        server.process.wait_until(CONNECT_WITHIN, answers)?;
        Ok(server)
    }
}

impl Server for ScratchServer {
    fn load(&self, plan: &ServerPlan, seed: u64) -> Result<Box<dyn Loaded>, Error> {
        let pid = self.process.pid();
        let loaded = LoadedKeys::load(self.kind, &self.socket, pid, plan, seed)?;
        Ok(Box::new(loaded))
    }

    fn ended(&mut self) -> Option<Error> {
        self.process.ended()
    }
}

impl Drop for ScratchServer {
    fn drop(&mut self) {
        self.process.stop(ENDS_WITHIN);
    }
}

fn command(program: PathBuf, plan: &ServerPlan) -> Result<ServerCommand, Error> {
    let mut words: Vec<OsString> = vec![program.into()];
    let own = SETTINGS.into_iter().chain([("unixsocket", SOCKET)]);
    let others = settings_beside(plan, own.clone().map(|(name, _)| name))?;
    for (name, value) in own.chain(others) {
        words.push(format!("--{name}").into());
        words.push(value.into());
    }
    let stop = StopSignal::Terminate;
    Ok(ServerCommand { words, stop })
}
