//! MariaDB for tests: Debian's, whose package would start a server of its own, which would outlive
//! the tests. Tests create their own.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};

use super::packages;
use crate::program;

/// The server.
const PROGRAM: &str = "mariadbd";
/// Where Debian installs it, which need not be in `PATH`.
const PATH: &str = "/usr/sbin/mariadbd";
/// The package that depends on the server of the distribution's version.
const PACKAGE: &str = "mariadb-server";
/// Packages start no service while this program denies it (invoke-rc.d(8), exit code 101).
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Makes sure that MariaDB's server is installed; as root, installs the package.
pub(crate) fn require() -> Result<()> {
    if is_installed() {
        return Ok(());
    }
    let _no_start = match packages::is_root() {
        true => NoStart::declare()?,
        false => None,
    };
    packages::require(PACKAGE, "the server of MariaDB", || {
        is_installed().then_some(())
    })
}

fn is_installed() -> bool {
    program::find(PROGRAM).is_some() || fs::metadata(PATH).is_ok_and(|it| it.is_file())
}

/// The program; removed when dropped.
struct NoStart;

impl NoStart {
    /// Declares that no service starts; `None` if this machine has a policy of its own already.
    fn declare() -> Result<Option<Self>> {
        let made = OpenOptions::new().write(true).create_new(true).open(POLICY);
        let mut file = match made {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot write {POLICY}")),
        };
        let declared = NoStart;
        file.write_all(b"#!/bin/sh\nexit 101\n")
            .and_then(|()| file.set_permissions(Permissions::from_mode(0o755)))
            .with_context(|| format!("cannot write {POLICY}"))?;
        Ok(Some(declared))
    }
}

impl Drop for NoStart {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(POLICY) {
            eprintln!("guest: cannot remove {POLICY}: {error}");
        }
    }
}
