//! PostgreSQL for guests: Debian's, installed on the host, whose root the guests see. No cluster is
//! created and no server started here; checks create their own in the guest, with `postgresql.sh`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::packages;

/// Where Debian installs the programs of every version.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// The package that depends on the server of the distribution's version.
const PACKAGE: &str = "postgresql";
/// Debian's packages would create a cluster and start it, unless this file exists (`include_dir` of
/// /etc/postgresql-common/createcluster.conf).
const NO_CLUSTER: &str = "/etc/postgresql-common/createcluster.d/numalab.conf";

/// Makes sure that PostgreSQL's programs are installed; as root, installs the package.
pub(crate) fn require() -> Result<()> {
    if is_installed() {
        return Ok(());
    }
    let _no_cluster = packages::is_root().then(NoCluster::declare).transpose()?;
    packages::require(PACKAGE, "the server of PostgreSQL", || {
        is_installed().then_some(())
    })
}

fn is_installed() -> bool {
    let versions = fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
    let has_server = |version: PathBuf| version.join("bin/postgres").is_file();
    versions.map(|version| version.path()).any(has_server)
}

/// The file; removed when dropped.
struct NoCluster;

impl NoCluster {
    fn declare() -> Result<Self> {
        let path = Path::new(NO_CLUSTER);
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(path, "create_main_cluster = false\n"))
            .with_context(|| format!("cannot write {NO_CLUSTER}"))?;
        Ok(Self)
    }
}

impl Drop for NoCluster {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(NO_CLUSTER) {
            eprintln!("guest: cannot remove {NO_CLUSTER}: {error}");
        }
    }
}
