//! The process of a server that numalab starts: launched under its placement, ended on drop.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use linux::child_group::ChildGroup;
use linux::own_program::OwnProgram;
use linux::plain_file;
use model::ServerKind;
use observed::{ServerUser, one_line};

use crate::{Error, LaunchOrder, Placed, ServerCommand, StopSignal};

/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The end of a log, in which the reason of a failure is.
const LOG_END_BYTES: u64 = 4096;

/// The first process of a server, which the others end with; killed on drop.
#[derive(Debug)]
pub struct ServerProcess {
    kind: ServerKind,
    group: ChildGroup,
    stop: StopSignal,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts `command` in `folder` under a placement, as `user` if this process is root. What it
    /// prints goes to `log`. `environment` removes and sets variables.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start(
        kind: ServerKind,
        launcher: &OwnProgram,
        placed: &Placed,
        command: ServerCommand,
        user: Option<ServerUser>,
        (folder, log): (&Path, PathBuf),
        environment: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Self, Error> {
        let said = File::create(&log).map_err(Error::io(format!("making {}", log.display())))?;
        let also = said.try_clone().map_err(Error::io("duplicating the log"))?;
        let mut launch = launcher.command();
        environment(&mut launch)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(said)
            .stderr(also);
        let mut group = ChildGroup::start(&mut launch).map_err(Error::io("starting the server"))?;
        let (stdin, _, _) = group.take_pipes();
        let stop = command.stop;
        let order = LaunchOrder {
            kind,
            parent_pid: std::process::id(),
            placement: placed.placement.clone(),
            groups: placed.groups.clone(),
            allocation: placed.allocation.clone(),
            user: user.map(|user| (user.uid, user.gid)),
            command,
        };
        let document = serde_json::to_vec(&order).expect("an order of plain words is JSON");
        let written = stdin.map_or(Ok(()), |mut stdin| stdin.write_all(&document));
        // A server that died before it received its order reports why in the log.
        let _ = written;
        Ok(ServerProcess {
            kind,
            group,
            stop,
            log,
        })
    }

    /// Waits until `connect` succeeds.
    ///
    /// # Errors
    /// When the server ends; the last error of `connect` after `within`.
    pub fn wait_until<T, E: From<Error>>(
        &mut self,
        within: Duration,
        mut connect: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let deadline = Instant::now() + within;
        loop {
            let ended = self.group.try_end();
            if ended
                .map_err(Error::io("waiting for the server"))?
                .is_some()
            {
                return Err(self.failure("did not start").into());
            }
            match connect() {
                Err(_) if Instant::now() < deadline => std::thread::sleep(LOOK_EVERY),
                answered => return answered,
            }
        }
    }

    /// Returns an error with the end of the server's log.
    fn failure(&self, what: &'static str) -> Error {
        let said = plain_file::read_end(&self.log, LOG_END_BYTES).unwrap_or_default();
        let said = one_line(&said);
        let kind = self.kind;
        Error::Server { kind, what, said }
    }

    /// Returns why the server ended in the middle of a trial, if it has ended.
    pub fn ended(&mut self) -> Option<Error> {
        self.has_ended()
            .then(|| self.failure("ended in the middle of the trial"))
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.group.try_end(), Ok(Some(_)) | Err(_))
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.group.pid()
    }

    /// Sends the signal on which it ends, and waits; returns whether it ended. A server that does
    /// not end is killed on drop.
    pub fn stop(&mut self, within: Duration) -> bool {
        match self.stop {
            StopSignal::Quit => self.group.quit(),
            StopSignal::Terminate => self.group.terminate(),
        }
        let deadline = Instant::now() + within;
        while !self.has_ended() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}
