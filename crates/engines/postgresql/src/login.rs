//! How numalab connects to a server: with which settings, and as which user of this machine.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use postgres::config::Host;
use postgres::error::SqlState;
use postgres::{Client, NoTls};

use crate::Error;
use crate::answering::{PORT, require_answer_of};

/// Directories of sockets: of Debian and Red Hat. `/tmp`, that of upstream, is anybody's.
pub(crate) const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/run/postgresql"];

/// What is needed to connect, again and again.
#[derive(Clone)]
pub(crate) struct Login {
    pub config: postgres::Config,
    /// The user and group to become for it, if this process is root.
    user: Option<(u32, u32)>,
}

impl Login {
    /// Connects as the user of this process.
    pub(crate) fn new(config: postgres::Config) -> Self {
        Login { config, user: None }
    }

    /// Finds out how the server lets numalab in: where it knows users by their sockets (peer
    /// authentication) and refuses root, as the owner of its socket, who may anyway do with it what
    /// they like. `is_role_named` says whether the role is the user's choice; else it is the one
    /// named like the user who connects.
    ///
    /// # Errors
    /// When the server does not answer, or lets neither in.
    pub(crate) fn find(
        config: postgres::Config,
        is_role_named: bool,
    ) -> Result<(Self, Client), Error> {
        require_answer_of(&config)?;
        let what = format!("connecting to {}", places(&config));
        let login = Login::new(config);
        let refused = match login.connect() {
            Ok(client) => return Ok((login, client)),
            Err(cause) => cause,
        };
        let is_unknown = refused.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        let owner = owner(&login.config).filter(|_| is_unknown && linux::process::is_root());
        let Some((uid, gid)) = owner else {
            return Err(Error::client(what)(refused));
        };
        let mut login = login;
        login.user = Some((uid, gid));
        let name = observed::name_of_user(uid).unwrap_or_else(|| uid.to_string());
        if !is_role_named {
            login.config.user(&name);
        }
        match login.connect() {
            Ok(client) => Ok((login, client)),
            Err(cause) => Err(Error::client(format!("{what}, as root and as {name}"))(
                cause,
            )),
        }
    }

    /// Connects.
    ///
    /// # Errors
    /// Those of the library.
    pub(crate) fn connect(&self) -> Result<Client, postgres::Error> {
        let connect = || self.config.connect(NoTls);
        match self.user {
            // Root may become any user, or else asks as itself.
            Some((uid, gid)) => {
                linux::process::as_user(uid, gid, connect).unwrap_or_else(|_| connect())
            }
            None => connect(),
        }
    }
}

/// The user and group of the socket that is connected to, unless root's.
fn owner(config: &postgres::Config) -> Option<(u32, u32)> {
    let Some(Host::Unix(directory)) = config.get_hosts().first() else {
        return None;
    };
    let status = std::fs::metadata(socket(directory.clone(), port(config))).ok()?;
    Some((status.uid(), status.gid())).filter(|(uid, _)| *uid != 0)
}

/// Returns the socket of a port.
pub(crate) fn socket(directory: PathBuf, port: u16) -> PathBuf {
    directory.join(format!(".s.PGSQL.{port}"))
}

/// Returns the first port.
pub(crate) fn port(config: &postgres::Config) -> u16 {
    config.get_ports().first().copied().unwrap_or(PORT)
}

/// Returns the hosts and ports, in words.
fn places(config: &postgres::Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<String> = hosts.collect();
    let ports: Vec<String> = config.get_ports().iter().map(u16::to_string).collect();
    let ports = match ports.is_empty() {
        true => PORT.to_string(),
        false => ports.join(", "),
    };
    format!("{}, port {ports}", hosts.join(", "))
}
