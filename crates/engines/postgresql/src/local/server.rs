//! Access to a server on this machine.

use std::path::Path;

use pglogin::{Passwords, Surroundings, require_answer};
use postgres::{Client, NoTls};

use super::lock_file::LockFile;
use super::owner::{self, Asker};
use postgres::error::SqlState;
use server::Error;

use crate::error;
use crate::scratch_server::CONNECT_WITHIN;

/// Databases that exist in every cluster, unless an administrator dropped them.
const USUAL: [&str; 2] = ["postgres", "template1"];

/// A catalog that another session has locked is an error, not a wait.
const WITHOUT_WAITING: &str = "-c lock_timeout=5s";

/// A running server.
pub(crate) struct LocalServer {
    lock_file: LockFile,
    asker: Asker,
    passwords: Passwords,
}

impl LocalServer {
    /// Finds the server of a data directory, to be queried as `role`; `None`: the one named like
    /// the connecting user.
    ///
    /// # Errors
    /// When it does not run, there is no user and role to query it, or the user's passwords cannot
    /// be read.
    pub(crate) fn of(data: &Path, role: Option<&str>) -> Result<Self, Error> {
        let asker = owner::asker(data, role)?;
        Ok(LocalServer {
            lock_file: LockFile::read(data)?,
            // Read before this process asks as another user.
            passwords: match asker.may_have_password {
                true => Surroundings::of_process()
                    .passwords()
                    .map_err(error::login)?,
                false => Passwords::default(),
            },
            asker,
        })
    }

    /// Returns the PID of the postmaster.
    pub(crate) fn pid(&self) -> u32 {
        self.lock_file.postmaster
    }

    /// Runs `work` as the user whom the server accepts.
    ///
    /// # Errors
    /// The errors of `work`, and when root may not become that user.
    pub(crate) fn ask<T: Send>(
        &self,
        work: impl FnOnce(&Door<'_>) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let (lock_file, passwords) = (&self.lock_file, &self.passwords);
        self.asker.ask(|role| {
            work(&Door {
                lock_file,
                passwords,
                role,
            })
        })?
    }
}

/// Access to a server as one role.
pub(crate) struct Door<'s> {
    lock_file: &'s LockFile,
    passwords: &'s Passwords,
    role: &'s str,
}

impl Door<'_> {
    /// Connects to a database.
    ///
    /// # Errors
    /// When the server rejects the connection.
    pub(crate) fn connect(&self, database: &str) -> Result<Client, Error> {
        let LockFile { socket, port, .. } = self.lock_file;
        let role = self.role;
        let mut config = tokio_postgres::Config::new();
        config
            .host_path(socket)
            .port(*port)
            .user(role)
            .dbname(database)
            .application_name("numalab")
            .options(WITHOUT_WAITING)
            .connect_timeout(CONNECT_WITHIN);
        if let Some(password) = self.passwords.of(&config).map_err(error::login)? {
            config.password(password);
        }
        let connected = postgres::Config::from(config).connect(NoTls);
        connected.map_err(error::client(format!(
            "connecting to database {database:?} through {}, port {port}, as {role:?}",
            socket.display()
        )))
    }

    /// Connects to a database that usually exists.
    ///
    /// # Errors
    /// As for [`Door::connect`], and when the server does not answer in time.
    pub(crate) fn connect_somewhere(&self) -> Result<Client, Error> {
        require_answer(&self.lock_file.socket, self.lock_file.port).map_err(error::login)?;
        self.connect(USUAL[0]).or_else(|refused| {
            match refused.code() == Some(SqlState::INVALID_CATALOG_NAME.code()) {
                true => self.connect(USUAL[1]),
                false => Err(refused),
            }
        })
    }
}
