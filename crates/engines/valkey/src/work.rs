//! How much work a running server has done: `total_commands_processed` of `INFO stats`
//! (<https://valkey.io/commands/info/>). Our own commands are among them, one a second.

use residency::instances::ServerTarget;
use server::{Error, WorkCounters, WorkDone};

use crate::client::Client;
use crate::settings::{asked, refused};
use crate::statistics;

/// Connects to the server of a process.
///
/// # Errors
/// When it does not answer, refuses, or another process answers.
pub(crate) fn connect(target: &ServerTarget, pid: u32) -> Result<Box<dyn WorkCounters>, Error> {
    let client = asked(target, pid, Ok)?;
    Ok(Box::new(Commands { client }))
}

/// The counter of commands.
struct Commands {
    client: Client,
}

impl WorkCounters for Commands {
    fn unit(&self) -> &'static str {
        "command"
    }

    fn mix(&self) -> Option<&'static str> {
        None
    }

    fn read(&mut self) -> Result<WorkDone, Error> {
        self.client.renew_limit();
        let text = self.client.ask(&[b"INFO", b"stats"]).map_err(refused)?;
        Ok(WorkDone {
            units: statistics::count(&text, "total_commands_processed")?,
            mix: None,
        })
    }
}
