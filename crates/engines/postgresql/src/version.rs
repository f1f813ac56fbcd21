//! Versions of PostgreSQL: which ones numalab supports, the versions that programs and servers
//! report, and the release that a user requests.

use std::str::FromStr;

use postgres::Client;

use model::exit::ExitCode;
use server::Error;

use crate::error;

/// The oldest version with everything that numalab needs (`pg_shmem_allocations`).
const OLDEST: u32 = 13;
/// The newest version for which numalab's queries are known to be correct.
const NEWEST: u32 = 19;

/// A version of PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Major version: 15 for 15.14.
    pub major: u32,
    /// The whole version, as the server reports it.
    pub text: String,
}

impl Version {
    /// Creates a version from `server_version_num` and `server_version` of a server.
    pub(crate) fn of_server(number: u32, text: &str) -> Self {
        Version {
            major: number / 10_000,
            text: text.to_owned(),
        }
    }

    /// Returns a remark if the version is newer than the newest known one.
    pub(crate) fn remark(&self) -> Option<String> {
        let text = &self.text;
        (self.major > NEWEST).then(|| {
            format!(
                "PostgreSQL {text} is newer than the versions numalab knows ({OLDEST} to \
                 {NEWEST}): its counters are still checked against each other"
            )
        })
    }

    /// Rejects versions older than the oldest supported one.
    pub(crate) fn require_oldest(&self) -> Result<(), Error> {
        if self.major >= OLDEST {
            return Ok(());
        }
        let found = &self.text;
        let message = format!("PostgreSQL {found} is too old: expected {OLDEST} or later");
        Err(Error::new(ExitCode::MachineCannot, message)
            .advise("name the bin directory of a newer version with --pg-bin"))
    }
}

impl From<&Version> for server::Version {
    fn from(version: &Version) -> Self {
        server::Version {
            text: version.text.clone(),
            remark: version.remark(),
        }
    }
}

/// Parses `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`, `… 19beta1`, `… 18devel`.
pub(crate) fn parse_version(text: &str) -> Option<Version> {
    let (_, after) = text.split_once("(PostgreSQL) ")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    Some(Version {
        major: digits.parse().ok()?,
        text: after.trim().to_owned(),
    })
}

/// Returns the version of the server of a connection.
///
/// # Errors
/// When it is too old, or the server does not report it.
pub(crate) fn version_of(client: &mut Client) -> Result<Version, Error> {
    let sql =
        "SELECT current_setting('server_version_num')::int, current_setting('server_version')";
    let row = client.query_one(sql, &[]);
    let row = row.map_err(error::client("asking for the server's version"))?;
    let number: i32 = row.get(0);
    let version = Version::of_server(number.unsigned_abs(), row.get(1));
    version.require_oldest()?;
    Ok(version)
}

/// A release to fetch: the newest of a major version (`18`), or a minor release (`18.6`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub(crate) major: u32,
    pub(crate) minor: Option<u32>,
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected a version from {OLDEST} on, such as 18 or 18.6");
        let number = |part: &str| {
            let is_plain = part.bytes().all(|byte| byte.is_ascii_digit());
            let number = part.parse::<u32>().ok().filter(|_| is_plain);
            number.ok_or_else(expected)
        };
        let (major, minor) = match text.split_once('.') {
            Some((major, minor)) => (number(major)?, Some(number(minor)?)),
            None => (number(text)?, None),
        };
        if major < OLDEST {
            return Err(expected());
        }
        Ok(Release { major, minor })
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.major)?;
        self.minor.map_or(Ok(()), |minor| write!(out, ".{minor}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Release, parse_version};

    #[test]
    fn versions_are_read_in_every_form() {
        let check = |text: &str, expected: Option<u32>| {
            assert_eq!(parse_version(text).map(|it| it.major), expected, "{text}");
        };
        check(
            "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n",
            Some(15),
        );
        check("postgres (PostgreSQL) 19beta1", Some(19));
        check("postgres (PostgreSQL) 9.6.24", Some(9));
        check("mysqld 8.0", None);
        check("postgres (PostgreSQL) x", None);
    }

    #[test]
    fn a_release_is_a_major_version_or_one_of_its_minors() {
        let check = |text: &str, expected: Option<&str>| {
            let parsed = text.parse::<Release>();
            let found = parsed.map(|release| release.to_string());
            assert_eq!(found.ok().as_deref(), expected, "{text}");
        };
        check("18", Some("18"));
        check("18.6", Some("18.6"));
        check("13", Some("13"));
        for wrong in [
            "12", "9.6", "", "18.", ".6", "18.6.0", "latest", "-18", "18 ", "+18", "18.+6",
        ] {
            check(wrong, None);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,20}(\\(PostgreSQL\\) )?\\PC{0,20}") {
            parse_version(&text);
        }
    }
}
