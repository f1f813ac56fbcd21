//! A running server: started under its placement, stopped on drop.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use linux::child_group::ChildGroup;
use postgres::{Client, NoTls};

use crate::folders::Folders;
use crate::programs::{one_line, without_settings_of_others};
use crate::{Error, LaunchOrder, Launcher, ServerPlan};

/// The superuser of a throw-away cluster.
pub(crate) const SUPERUSER: &str = "numalab";
/// Timeout for a server to accept a connection; generous, since emulated machines are slow.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(120);
/// Timeout for a server to end after an immediate shutdown request; it kills its processes itself
/// after 5 s (postmaster.c, `SIGKILL_CHILDREN_AFTER_SECS`).
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A running server; stopped on drop.
#[derive(Debug)]
pub struct Server {
    /// The postmaster. Its processes have separate process groups, and end with it.
    postmaster: ChildGroup,
    socket: PathBuf,
    log: PathBuf,
}

impl Server {
    pub(crate) fn start(
        folders: &Folders,
        program: PathBuf,
        user: Option<(u32, u32)>,
        plan: &ServerPlan,
        launcher: &Launcher,
    ) -> Result<Self, Error> {
        let (socket, log) = (folders.socket.clone(), folders.log());
        let said = File::create(&log).map_err(Error::io(format!("making {}", log.display())))?;
        let also = said.try_clone().map_err(Error::io("duplicating the log"))?;
        let mut launch = Command::new(&launcher.program);
        without_settings_of_others(&mut launch)
            .args(&launcher.arguments)
            .current_dir(&folders.data)
            .stdin(Stdio::piped())
            .stdout(said)
            .stderr(also);
        let mut postmaster =
            ChildGroup::start(&mut launch).map_err(Error::io("starting the server"))?;
        let (stdin, _, _) = postmaster.take_pipes();
        let server = Server {
            postmaster,
            socket,
            log,
        };
        let order = LaunchOrder {
            parent_pid: std::process::id(),
            placement: plan.placed.placement.clone(),
            groups: plan.placed.groups.clone(),
            allocation: plan.placed.allocation.clone(),
            user,
            command: command(folders, program, plan),
        };
        let document = serde_json::to_vec(&order).expect("an order of plain words is JSON");
        let written = stdin.map_or(Ok(()), |mut stdin| stdin.write_all(&document));
        // A server that died before it received its order reports why in the log.
        let _ = written;
        server.answering()
    }

    /// Waits until the server accepts connections.
    fn answering(mut self) -> Result<Self, Error> {
        let deadline = Instant::now() + CONNECT_WITHIN;
        loop {
            let ended = self.postmaster.try_end();
            if ended
                .map_err(Error::io("waiting for the server"))?
                .is_some()
            {
                return Err(self.failure("did not start"));
            }
            match self.connect() {
                Ok(_) => return Ok(self),
                Err(_) if Instant::now() < deadline => std::thread::sleep(LOOK_EVERY),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns an error with the end of the server's log.
    pub(crate) fn failure(&self, what: &'static str) -> Error {
        let said = one_line(&std::fs::read(&self.log).unwrap_or_default());
        Error::Server { what, said }
    }

    /// Returns `result`, or why the server ended if it has ended.
    pub(crate) fn explain<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        match result {
            Err(Error::Cancelled) => Err(Error::Cancelled),
            // The log of a dead server is more informative than a client's error.
            Err(_) if self.has_ended() => Err(self.failure("ended in the middle of the trial")),
            result => result,
        }
    }

    /// Returns whether the server has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.postmaster.try_end(), Ok(Some(_)) | Err(_))
    }

    /// Connects as superuser.
    pub(crate) fn connect(&self) -> Result<Client, Error> {
        self.config()
            .connect(NoTls)
            .map_err(Error::client("connecting to the server"))
    }

    /// Returns the configuration to connect with.
    pub(crate) fn config(&self) -> postgres::Config {
        let mut config = postgres::Config::new();
        config
            .host_path(&self.socket)
            .user(SUPERUSER)
            .dbname("postgres")
            .connect_timeout(CONNECT_WITHIN);
        config
    }

    /// Returns the PID of the postmaster.
    pub fn pid(&self) -> u32 {
        self.postmaster.pid()
    }

    fn stop(&mut self) {
        // Immediate shutdown: nothing of this server is needed any more.
        self.postmaster.quit();
        let deadline = Instant::now() + ENDS_WITHIN;
        // A server that does not end is killed on drop.
        while !self.has_ended() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the server's command line: the settings that vary from case to case.
fn command(folders: &Folders, program: PathBuf, plan: &ServerPlan) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![program.into(), "-D".into(), folders.data.clone().into()];
    let socket = folders.socket.display();
    let huge_pages = if plan.huge_pages { "on" } else { "off" };
    let settings = [
        // The setting is a list; double quotes keep a path with a comma in one piece.
        ("unix_socket_directories", format!("\"{socket}\"")),
        ("config_file", folders.settings().display().to_string()),
        ("shared_buffers", plan.tables.shared_buffers().to_string()),
        ("huge_pages", huge_pages.to_owned()),
        ("max_connections", (plan.tables.sessions + 10).to_string()),
    ];
    for (name, value) in settings {
        words.push("-c".into());
        words.push(format!("{name}={value}").into());
    }
    words
}
