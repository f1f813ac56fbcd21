//! As which user of this machine a server accepts the connection.

use std::os::unix::fs::MetadataExt;

use observed::Address;
use tokio_postgres::Config;
use tokio_postgres::error::SqlState;

use crate::Error;
use crate::answering::require_answer_of;
use crate::places::{addresses, in_words};
use crate::server_url::ServerUrl;

/// What is needed to connect, again and again.
#[derive(Clone)]
pub struct Login {
    /// The settings.
    pub config: Config,
    /// The user and group to become for it, if this process is root.
    user: Option<(u32, u32)>,
}

impl Login {
    /// Connects as the user of this process.
    pub fn new(config: Config) -> Self {
        Login { config, user: None }
    }

    /// Finds out how the server lets numalab in: where it knows users by their sockets (peer
    /// authentication) and refuses root, as the owner of its socket, who may anyway do with it what
    /// they like. A role that the user did not name is the one named like the user who connects.
    ///
    /// # Errors
    /// When the server does not answer, or lets neither in; those of `connect`.
    pub fn find<C>(
        url: ServerUrl,
        connect: impl Fn(&Login) -> Result<C, Error>,
    ) -> Result<(Self, C), Error> {
        require_answer_of(&url.config)?;
        let is_role_named = url.is_role_named();
        let mut login = Login::new(url.config);
        let refused = match connect(&login) {
            Ok(client) => return Ok((login, client)),
            Err(refused) => refused,
        };
        let is_unknown = refused.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        let owner = owner(&login.config).filter(|_| is_unknown && linux::process::is_root());
        let Some((uid, gid)) = owner else {
            return Err(refused);
        };
        login.user = Some((uid, gid));
        let name = observed::name_of_user(uid).unwrap_or_else(|| uid.to_string());
        if !is_role_named {
            login.config.user(&name);
        }
        match connect(&login) {
            Err(Error::Client { what, cause }) => {
                let what = format!("{what}, as root and as {name}");
                Err(Error::Client { what, cause })
            }
            other => other.map(|client| (login, client)),
        }
    }

    /// Runs `work`, which opens the connection, as the user whom the server accepts.
    pub fn as_accepted<T: Send>(&self, work: impl Fn() -> T + Sync) -> T {
        match self.user {
            // Root may become any user, or else asks as itself.
            Some((uid, gid)) => linux::process::as_user(uid, gid, &work).unwrap_or_else(|_| work()),
            None => work(),
        }
    }

    /// Returns what is done when it connects, for messages.
    pub fn connecting(&self) -> String {
        format!("connecting to {}", in_words(&self.config))
    }
}

/// The user and group of the socket that is connected to, unless root's.
fn owner(config: &Config) -> Option<(u32, u32)> {
    let Some(Address::Socket(socket)) = addresses(config).into_iter().next() else {
        return None;
    };
    let status = std::fs::metadata(socket).ok()?;
    Some((status.uid(), status.gid())).filter(|(uid, _)| *uid != 0)
}
