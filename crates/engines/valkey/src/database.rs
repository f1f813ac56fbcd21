//! Redis or Valkey as one of the databases that numalab measures.

use std::path::Path;

use journal::Journal;
use model::{ServerKind, ServerSettings};
use residency::instances::{ServerTarget, Target};
use server::{Database, Error, WorkCounters};

use crate::cluster::{Cluster, server_user};
use crate::installation::{self, Installation};
use crate::{settings, work};

/// One of the two, by the name of its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Valkey {
    kind: ServerKind,
    program: &'static str,
}

impl Valkey {
    /// Redis: `redis-server`.
    pub const REDIS: Valkey = Valkey {
        kind: ServerKind::named("redis"),
        program: "redis-server",
    };
    /// Valkey: `valkey-server`.
    pub const VALKEY: Valkey = Valkey {
        kind: ServerKind::named("valkey"),
        program: "valkey-server",
    };

    fn find(&self) -> Result<std::path::PathBuf, String> {
        let path = std::env::var_os("PATH");
        installation::find(self.program, path.as_deref()).ok_or_else(|| {
            let program = self.program;
            format!(
                "no {program} was found on the PATH or in /usr/bin, /usr/sbin and those of \
                 /usr/local; install it (Debian: apt-get install {program})"
            )
        })
    }
}

impl Database for Valkey {
    fn kind(&self) -> ServerKind {
        self.kind
    }

    fn missing(&self) -> Option<String> {
        self.find().err()
    }

    fn create(&self, folder: &Path, journal: &Journal) -> Result<Box<dyn server::Cluster>, Error> {
        let program = self.find().map_err(Error::failed)?;
        let installation = Installation::of(program, server_user()?)?;
        let cluster = Cluster::create((self.kind, self.program), installation, folder, journal)?;
        Ok(Box::new(cluster))
    }

    fn settings(&self, target: &ServerTarget, pid: u32) -> Option<Result<ServerSettings, Error>> {
        (target.word == self.kind.id()).then(|| settings::ask(self.kind, target, pid))
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
        (target.word == self.kind.id()).then(|| work::connect(target, pid))
    }

    /// One thread of the server does the work of all sessions, and the client sends each command.
    fn accounts_for_time(&self) -> bool {
        false
    }
}
