//! A running server: started under its placement, stopped on drop.

use std::time::Duration;

use linux::own_program::OwnProgram;
use observed::ServerUser;
use server::{Error, Loaded, Server, ServerPlan, ServerProcess};

use crate::client::Client;
use crate::door::Door;
use crate::kind::KIND;
use crate::loaded_tables::LoadedTables;
use crate::settings::{Mode, Places, command};
use crate::user::without_settings_of_others;

/// Timeout for a server to accept a connection; generous, since emulated machines are slow.
const CONNECT_WITHIN: Duration = Duration::from_secs(120);
/// Timeout for a server that has only read to end; it is killed then.
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// Timeout for a server that has loaded tables to write them and end.
const WRITES_WITHIN: Duration = Duration::from_secs(300);

/// A running server; stopped on drop.
#[derive(Debug)]
pub(crate) struct ScratchServer {
    process: ServerProcess,
    door: Door,
}

impl ScratchServer {
    /// Starts a server, and waits until it answers.
    ///
    /// # Errors
    /// When it cannot be placed, or does not come up.
    pub(crate) fn start(
        places: &Places,
        user: Option<ServerUser>,
        (plan, mode): (&ServerPlan, Mode),
        launcher: &OwnProgram,
    ) -> Result<Self, Error> {
        let process = ServerProcess::start(
            KIND,
            launcher,
            &plan.placed,
            command(places, plan, mode)?,
            user,
            (&places.data, places.log.clone()),
            without_settings_of_others,
        )?;
        let door = Door::at(places.socket.clone());
        let mut server = ScratchServer { process, door };
        let door = server.door.clone();
        server
            .process
            .wait_until(CONNECT_WITHIN, || door.connect())?;
        Ok(server)
    }

    /// Connects to it.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) fn connect(&self) -> Result<Client, Error> {
        self.door.connect()
    }

    /// Returns why it ended, if it has ended; else `error`.
    pub(crate) fn reason(&mut self, error: Error) -> Error {
        self.process.ended().unwrap_or(error)
    }

    /// Has the server write all that it changed, and waits for its end.
    ///
    /// # Errors
    /// When it does not end: what it wrote is not complete then.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        if self.process.stop(WRITES_WITHIN) {
            return Ok(());
        }
        let expected = format!("its end within {} s", WRITES_WITHIN.as_secs());
        let what = "the server that loaded the tables";
        Err(Error::answer(what, expected, "that it still runs"))
    }
}

impl Server for ScratchServer {
    fn load(&self, plan: &ServerPlan, seed: u64) -> Result<Box<dyn Loaded>, Error> {
        let pid = self.process.pid();
        let loaded = LoadedTables::prewarm(self.door.clone(), pid, plan, seed)?;
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
