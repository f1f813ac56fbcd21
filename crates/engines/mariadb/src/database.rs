//! MariaDB as one of the databases that numalab measures.

use std::ffi::OsString;
use std::path::Path;

use journal::Journal;
use linux::Root;
use model::{Relations, Residency, ServerKind, ServerSettings};
use residency::instances::{Server, ServerTarget, Target};
use server::{Database, Error, WorkCounters};

use crate::cluster::Cluster;
use crate::installation;
use crate::kind::KIND;
use crate::{relations, running_settings, work};

/// The servers that targets of ours name.
const OURS: Server = Server::MariaDb;

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

    fn settings(&self, target: &ServerTarget, pid: u32) -> Option<Result<ServerSettings, Error>> {
        let ask = || running_settings::ask(&Root::live(), pid);
        (target.server == OURS).then(ask)
    }

    fn relations(
        &self,
        target: &ServerTarget,
        pid: u32,
        residency: &Residency,
        with_view: bool,
    ) -> Option<Result<Relations, Error>> {
        let found = || relations::relations(&Root::live(), pid, residency, with_view);
        (target.server == OURS).then(found)
    }

    fn work(
        &self,
        target: &Target,
        pid: u32,
        _role: Option<&str>,
    ) -> Option<Result<Box<dyn WorkCounters>, Error>> {
        let Target::Server(target) = target else {
            return None;
        };
        let connect = || work::connect(pid);
        (target.server == OURS).then(connect)
    }

    /// A client sends each statement, so that a session also waits for that.
    fn accounts_for_time(&self) -> bool {
        false
    }
}
