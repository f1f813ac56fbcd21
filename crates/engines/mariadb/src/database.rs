//! MariaDB as one of the databases that numalab measures.

use std::ffi::OsString;
use std::path::Path;

use journal::Journal;
use model::ServerKind;
use server::{Database, Error};

use crate::cluster::Cluster;
use crate::installation;
use crate::kind::KIND;

/// MariaDB, looked for in some directories.
#[derive(Clone, Debug, Default)]
pub struct MariaDb {
    /// `PATH`.
    pub path: Option<OsString>,
}

impl Database for MariaDb {
    fn kind(&self) -> ServerKind {
        KIND
    }

    fn missing(&self) -> Option<String> {
        let error = installation::find(self.path.as_deref()).err()?;
        Some(match error.advice() {
            Some(advice) => format!("{error}; {advice}"),
            None => error.to_string(),
        })
    }

    fn create(&self, folder: &Path, journal: &Journal) -> Result<Box<dyn server::Cluster>, Error> {
        let cluster = Cluster::create(self.path.as_deref(), folder, journal)?;
        Ok(Box::new(cluster))
    }

    /// A client sends each statement, so that a session also waits for that.
    fn accounts_for_time(&self) -> bool {
        false
    }
}
