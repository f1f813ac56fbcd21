//! Finds the server program of an installed MariaDB.

use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use observed::{Program, ServerUser};

use model::exit::ExitCode;
use server::Error;

use crate::error::not_found;
use crate::kind::PROGRAM;
use crate::user::{server_user, without_settings_of_others};

/// Directories of packages and of `make install`, which need not be in `PATH`.
const DIRECTORIES: [&str; 4] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/mysql/bin",
];
/// The oldest version whose program has this name (mariadbd), and every setting that is used.
const OLDEST: Number = Number(10, 5);
/// The newest version for which the settings are known to mean what is meant.
const NEWEST: Number = Number(10, 11);

/// The two numbers of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Number(u32, u32);

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// An installed MariaDB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installation {
    /// The server.
    pub program: PathBuf,
    /// Its version, as it reports it.
    pub version: String,
    number: Number,
}

impl Installation {
    /// Returns what has to be said of this version with every trial, if anything.
    pub(crate) fn remark(&self) -> Option<String> {
        let version = &self.version;
        (self.number > NEWEST).then(|| {
            format!(
                "MariaDB {version} is newer than the versions numalab knows ({OLDEST} to \
                 {NEWEST}): its counters are still checked"
            )
        })
    }
}

/// Finds an installation in the directories of `path`, then in those of packages.
///
/// # Errors
/// When there is none, or the first that runs is too old.
pub(crate) fn find(path: Option<&OsStr>) -> Result<Installation, Error> {
    let user = server_user()?;
    let fixed = DIRECTORIES.map(PathBuf::from);
    let folders = std::env::split_paths(path.unwrap_or_default())
        // A program in the working directory is not an installed one.
        .filter(|folder| folder.is_absolute())
        .chain(fixed);
    let mut unfit = None;
    for program in folders.map(|folder| folder.join(PROGRAM)) {
        if !program.is_file() {
            continue;
        }
        match of(&program, user) {
            Ok(found) => return Ok(found),
            Err(error) => unfit = unfit.or(Some(error)),
        }
    }
    let looked = format!("PATH, {}", DIRECTORIES.join(", "));
    Err(unfit.unwrap_or_else(|| not_found(&looked)))
}

/// Returns the installation of a program, as the server's user finds it.
fn of(program: &Path, user: Option<ServerUser>) -> Result<Installation, Error> {
    let output = Program::installed(program, user)
        .with(without_settings_of_others)
        .args(["--no-defaults", "--version"])
        .answer()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let (version, number) = parse_version(&said).ok_or_else(|| {
        let found = observed::one_line(&output.stdout);
        Error::answer(
            format!("{} --version", program.display()),
            "a version such as Ver 10.11.6-MariaDB",
            format!("{found:?}"),
        )
    })?;
    if number < OLDEST {
        let message = format!("MariaDB {version} is too old: expected {OLDEST} or later");
        return Err(Error::new(ExitCode::MachineCannot, message)
            .advise("put the directory of a newer mariadbd first in PATH"));
    }
    Ok(Installation {
        program: program.to_owned(),
        version,
        number,
    })
}

/// Parses the version of
/// `/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)`.
fn parse_version(text: &str) -> Option<(String, Number)> {
    let (_, after) = text.split_once("Ver ")?;
    let version = after.split_ascii_whitespace().next()?;
    let (numbers, _) = version.split_once("-MariaDB")?;
    let mut parts = numbers.split('.').map(|part| part.parse::<u32>().ok());
    let number = Number(parts.next()??, parts.next()??);
    Some((numbers.to_owned(), number))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;

    use super::{Number, find, parse_version};

    #[test]
    fn versions_are_read() {
        let check = |text: &str, expected: Option<(&str, Number)>| {
            let expected = expected.map(|(text, number)| (text.to_owned(), number));
            assert_eq!(parse_version(text), expected, "{text}");
        };
        let debian = "/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on \
                      x86_64 (Debian 12)\n";
        check(debian, Some(("10.11.19", Number(10, 11))));
        let log = "mariadbd  Ver 11.4.2-MariaDB-log for Linux on x86_64";
        check(log, Some(("11.4.2", Number(11, 4))));
        check("mysqld  Ver 8.0.36 for Linux on x86_64", None);
        check("", None);
    }

    #[test]
    fn the_first_one_in_the_path_that_is_new_enough_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let program = |name: &str, version: &str| {
            let bin = folder.path().join(name);
            fs::create_dir(&bin).unwrap();
            let file = bin.join("mariadbd");
            let said = format!("#!/bin/sh\necho 'mariadbd  Ver {version} for Linux'\n");
            fs::write(&file, said).unwrap();
            // The server's user must be able to enter and to run it.
            for path in [folder.path(), &bin, &file] {
                fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
            }
            bin
        };
        let (old, fit) = (
            program("old", "10.4.1-MariaDB"),
            program("fit", "10.6.2-MariaDB"),
        );
        let (new, other) = (program("new", "12.0.2-MariaDB"), program("other", "8.0.36"));
        let path = |bins: &[&std::path::PathBuf]| std::env::join_paths(bins).unwrap();
        let found = find(Some(&path(&[&old, &other, &fit, &new]))).unwrap();
        assert_eq!((found.version.as_str(), found.remark()), ("10.6.2", None));
        let found = find(Some(&path(&[&new]))).unwrap();
        assert!(found.remark().unwrap().contains("12.0.2 is newer"));
    }

    proptest! {
        #[test]
        fn no_version_panics(text in "(Ver )?[0-9.]{0,20}(-MariaDB)?\\PC{0,10}") {
            parse_version(&text);
        }
    }
}
