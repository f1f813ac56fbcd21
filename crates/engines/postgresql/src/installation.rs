//! Finds the programs of an installed PostgreSQL.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use observed::{Answer, Program, ServerUser, one_line};
use server::Error;

use crate::error::{not_found, not_installed};
use crate::programs::{server_user, without_settings_of_others};
use crate::version::{Release, Version, parse_version};

/// Directories of packages: Debian's, Red Hat's.
const PACKAGES: [(&str, &str, &str); 2] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
];
/// Directory used by `make install`.
const BUILT: &str = "/usr/local/pgsql/bin";
/// Folders of packages have fewer entries.
const ENTRIES_MAX: usize = 1 << 16;
/// The programs that must exist.
const PROGRAMS: [&str; 2] = ["postgres", "initdb"];

/// Where to search.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The directory that the user named; if set, no other is searched.
    pub named: Option<PathBuf>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// The release to fetch; if set, nothing is searched.
    pub release: Option<Release>,
}

/// An installed PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The directory of its programs.
    pub bin: PathBuf,
    /// Its version.
    pub version: Version,
}

impl Installation {
    /// Returns the path of one of its programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }
}

/// Finds an installation, in the order of docs/postgres.md.
///
/// # Errors
/// When there is none, or the one named is not an installation or is too old.
pub fn find(places: &Places) -> Result<Installation, Error> {
    let user = server_user()?;
    if let Some(bin) = &places.named {
        if let Some(missing) = missing_program(bin) {
            return Err(not_installed(bin, missing));
        }
        return of(bin, user);
    }
    let candidates = candidates(places, user);
    let whole = candidates
        .iter()
        .filter(|bin| missing_program(bin).is_none());
    let mut unfit = None;
    for bin in whole {
        match of(bin, user) {
            Ok(found) => return Ok(found),
            Err(error) => unfit = unfit.or(Some(error)),
        }
    }
    let [(debian, ..), _] = PACKAGES;
    let looked = ["PATH", debian, "/usr/pgsql-*", BUILT, "pg_config --bindir"];
    Err(unfit.unwrap_or_else(|| not_found(&looked)))
}

fn missing_program(bin: &Path) -> Option<&'static str> {
    PROGRAMS.into_iter().find(|name| !bin.join(name).is_file())
}

fn candidates(places: &Places, user: Option<ServerUser>) -> Vec<PathBuf> {
    let path = places.path.clone().unwrap_or_default();
    let mut candidates: Vec<PathBuf> = std::env::split_paths(&path)
        // A program in the working directory is not an installed one.
        .filter(|folder| folder.is_absolute())
        .collect();
    for (parent, prefix, bin) in PACKAGES {
        candidates.extend(versions_in(Path::new(parent), prefix, bin));
    }
    candidates.push(PathBuf::from(BUILT));
    let pg_config = Program::installed("pg_config", user).with(without_settings_of_others);
    let answer = pg_config.args(["--bindir"]).answer();
    let configured = answer.and_then(Answer::succeeded).ok();
    candidates.extend(configured.map(|said| PathBuf::from(String::from_utf8_lossy(&said).trim())));
    candidates
}

/// Returns the directories `PARENT/PREFIXnn/BIN`, highest number first.
fn versions_in(parent: &Path, prefix: &str, bin: &str) -> Vec<PathBuf> {
    let entries = observed::entries(parent, ENTRIES_MAX).into_iter().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((number, entry.path().join(bin)))
        })
        .collect();
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Returns the installation in a directory, as the server's user finds it.
pub(crate) fn of(bin: &Path, user: Option<ServerUser>) -> Result<Installation, Error> {
    let program = bin.join("postgres");
    let answer = Program::installed(&program, user)
        .args(["--version"])
        .answer()?;
    let said = String::from_utf8_lossy(&answer.stdout);
    let version = parse_version(&said).ok_or_else(|| {
        Error::answer(
            "postgres --version",
            "a version such as postgres (PostgreSQL) 15.14",
            format!("{:?}", one_line(&answer.stdout)),
        )
    })?;
    version.require_oldest()?;
    Ok(Installation {
        bin: bin.to_owned(),
        version,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::{Places, find, versions_in};
    use server::Error;

    /// Creates programs that report this version.
    fn programs(bin: &Path, version: &str) {
        fs::create_dir_all(bin).unwrap();
        for name in ["postgres", "initdb"] {
            let script = format!("#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n");
            fs::write(bin.join(name), script).unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(bin.join(name), mode).unwrap();
        }
        // The server's user must be able to enter every directory above.
        let open = fs::Permissions::from_mode(0o755);
        let temporary = std::env::temp_dir();
        for folder in bin.ancestors().take_while(|it| *it != temporary) {
            fs::set_permissions(folder, open.clone()).unwrap();
        }
    }

    fn named(bin: &Path) -> Places {
        Places {
            named: Some(bin.to_owned()),
            ..Places::default()
        }
    }

    #[test]
    fn one_that_is_named_must_be_one_and_not_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        let error = find(&named(&bin)).unwrap_err().to_string();
        assert!(error.ends_with("it has no postgres"), "{error}");
        programs(&bin, "12.22");
        let error = find(&named(&bin)).unwrap_err().to_string();
        assert_eq!(error, "PostgreSQL 12.22 is too old: expected 13 or later");
        programs(&bin, "17.2");
        assert_eq!(find(&named(&bin)).unwrap().version.major, 17);
        programs(&bin, "hello");
        assert!(matches!(
            find(&named(&bin)).unwrap_err(),
            Error::Answer { .. }
        ));
    }

    #[test]
    fn no_program_of_postgres_runs_as_root() {
        let folder = tempfile::tempdir().unwrap();
        programs(folder.path(), "17.0");
        let script = "#!/bin/sh\necho \"postgres (PostgreSQL) 17.$(id -u)\"\n";
        fs::write(folder.path().join("postgres"), script).unwrap();
        let text = find(&named(folder.path())).unwrap().version.text;
        assert_ne!(text, "17.0");
        let uid = text
            .strip_prefix("17.")
            .and_then(|uid| uid.parse::<u32>().ok());
        assert!(uid.is_some(), "{text}");
    }

    #[test]
    fn what_is_newer_than_we_know_is_said_and_taken() {
        let folder = tempfile::tempdir().unwrap();
        let remark = |version: &str| {
            programs(folder.path(), version);
            find(&named(folder.path())).unwrap().version.remark()
        };
        for known in ["13.22", "15.14 (Debian)", "18.6", "19beta1"] {
            assert_eq!(remark(known), None, "{known}");
        }
        let said = remark("20devel").unwrap();
        assert!(said.contains("20devel is newer"), "{said}");
    }

    #[test]
    fn one_that_does_not_run_is_passed_over() {
        let (broken, whole) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        programs(broken.path(), "hello");
        programs(whole.path(), "16.4");
        let path = std::env::join_paths([broken.path(), whole.path()]).unwrap();
        let places = Places {
            path: Some(path),
            ..Places::default()
        };
        assert_eq!(find(&places).unwrap().bin, whole.path());
    }

    #[test]
    fn path_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        programs(folder.path(), "14.1");
        let path = std::env::join_paths([Path::new("relative"), folder.path()]).unwrap();
        let places = Places {
            path: Some(path),
            ..Places::default()
        };
        assert_eq!(find(&places).unwrap().bin, folder.path());
    }

    #[test]
    fn of_several_versions_the_newest_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["9.6", "13", "9", "17", "x"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let found = versions_in(folder.path(), "", "bin");
        let expected = ["17", "13", "9"].map(|name| folder.path().join(name).join("bin"));
        assert_eq!(found, expected);
    }
}
