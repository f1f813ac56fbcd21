//! An installed server: its program and its version.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use observed::{Program, ServerUser, one_line};
use server::{Error, Version};

/// Folders of servers that may not be on the path of users.
const FOLDERS: [&str; 4] = ["/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/local/sbin"];

/// An installed server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installation {
    /// The program.
    pub program: PathBuf,
    /// Its version, such as `7.0.15`.
    pub version: String,
}

/// Looks for a program on `path` (that of the environment), then where packages put servers.
pub(crate) fn find(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let named = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    let folders = named.into_iter().flatten();
    let folders = folders.chain(FOLDERS.map(PathBuf::from));
    let mut programs = folders.map(|folder| folder.join(program));
    programs.find(|program| program.is_absolute() && program.is_file())
}

impl Installation {
    /// Asks a program for its version, as the server's user.
    ///
    /// # Errors
    /// When it cannot be executed, or does not say it.
    pub(crate) fn of(program: PathBuf, user: Option<ServerUser>) -> Result<Self, Error> {
        let version = said_version(&program, user)?;
        Ok(Installation { program, version })
    }

    /// Its version, in the words of the load.
    pub(crate) fn version(&self) -> Version {
        Version {
            text: self.version.clone(),
            remark: None,
        }
    }
}

fn said_version(program: &Path, user: Option<ServerUser>) -> Result<String, Error> {
    let output = Program::installed(program, user)
        .args(["--version"])
        .answer()?;
    let said = String::from_utf8_lossy(&output.stdout);
    parse(&said).ok_or_else(|| {
        let (program, said) = (program.display(), one_line(&output.stdout));
        Error::failed(format!(
            "{program} --version: expected v=VERSION, found {said:?}"
        ))
    })
}

/// Parses `Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=...`.
fn parse(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let version = words.find_map(|word| word.strip_prefix("v="))?;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-');
    let starts = version.starts_with(|it: char| it.is_ascii_digit());
    (starts && version.chars().all(is_plain)).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_both_are_read() {
        let check = |text, expected: Option<&str>| assert_eq!(parse(text).as_deref(), expected);
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=a";
        check(redis, Some("7.0.15"));
        check(
            "Valkey server v=8.1.0-rc1 sha=0:0 malloc=jemalloc-5.3.0",
            Some("8.1.0-rc1"),
        );
        check("v=\u{1b}[31m", None);
        check("", None);
    }

    #[test]
    fn no_program_of_a_server_runs_as_root() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("redis-server");
        std::fs::write(&program, "#!/bin/sh\necho \"v=1.0.$(id -u)\"\n").unwrap();
        for path in [folder.path(), &program] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let user = crate::cluster::server_user().unwrap();
        let found = Installation::of(program, user).unwrap();
        assert_ne!(found.version, "1.0.0");
        let uid = user.map_or(linux::process::user(), |user| user.uid);
        assert_eq!(found.version, format!("1.0.{uid}"));
    }

    #[test]
    fn a_program_is_looked_for_on_the_path_first() {
        assert_eq!(find("sh", Some(OsStr::new("/bin"))), Some("/bin/sh".into()));
        assert!(find("sh", None).is_some());
        assert_eq!(
            find("no-such-server", Some(OsStr::new("/bin:relative"))),
            None
        );
    }
}
