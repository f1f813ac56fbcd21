//! The Redis and the Valkey of tests: those of Debian's packages of tools, which have no service.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use testing::{Need, not_run};

use crate::unpacked_programs::find;

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Its id in experiments and targets.
    pub id: &'static str,
    /// Its name in reports.
    pub name: &'static str,
    /// Its server.
    pub server: &'static str,
    /// The program of its tools: it becomes the server when it is started under that name.
    tool: &'static str,
    /// The package of its tools.
    package: &'static str,
}

/// Redis.
pub(crate) const REDIS: Kind = Kind {
    id: "redis",
    name: "Redis",
    server: "redis-server",
    tool: "redis-check-rdb",
    package: "redis-tools",
};
/// Valkey.
pub(crate) const VALKEY: Kind = Kind {
    id: "valkey",
    name: "Valkey",
    server: "valkey-server",
    tool: "valkey-check-rdb",
    package: "valkey-tools",
};

impl Kind {
    /// Makes its server in this folder; if there is none here, reports that `test` is not run.
    pub(crate) fn link_to_server(self, folder: &Path, test: &str) -> Option<PathBuf> {
        let Some(found) = find(self.tool, &[self.package]) else {
            let (tool, package) = (self.tool, self.package);
            let why = format!("there is no {tool} of {package} (cargo xtask test --only packages)");
            not_run(test, Need::Package, &why);
            return None;
        };
        let link = folder.join(self.server);
        symlink(found, &link).unwrap();
        Some(link)
    }
}
