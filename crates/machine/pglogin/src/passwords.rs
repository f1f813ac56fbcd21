//! The passwords of the user who runs numalab: of the variable `PGPASSWORD`, or the password file
//! (PostgreSQL manual, "The Password File").

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use linux::plain_file;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::Error;
use crate::places::{SOCKET_DIRECTORIES, port};

/// No file that is read is longer.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Passwords to choose from.
#[derive(Default)]
pub struct Passwords {
    /// The one for all servers.
    given: Option<String>,
    /// The file and its text.
    file: Option<(PathBuf, String)>,
}

impl Passwords {
    /// Returns the given one, or those of a file, if there is one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn new(given: Option<String>, file: Option<PathBuf>) -> Result<Self, Error> {
        let file = file.filter(|_| given.is_none());
        let text = file.as_deref().map(read).transpose()?.flatten();
        let file = file.zip(text);
        Ok(Passwords { given, file })
    }

    /// Returns the password for a login.
    ///
    /// # Errors
    /// When it stands in a file that others may read, which libpq does not use either.
    pub fn of(&self, config: &Config) -> Result<Option<String>, Error> {
        let Some((path, text)) = &self.file else {
            return Ok(self.given.clone());
        };
        let user = config.get_user().unwrap_or_default();
        let is_usual = |path: &Path| SOCKET_DIRECTORIES.iter().any(|it| path == Path::new(it));
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            // The usual directory of sockets is called so, too (libpq, passwordFromFile).
            Some(Host::Unix(path)) if is_usual(path) => "localhost".to_owned(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => {
                let address = config.get_hostaddrs().first();
                address.map_or(String::new(), |it| it.to_string())
            }
        };
        let port = port(config).to_string();
        let database = config.get_dbname().unwrap_or(user);
        let wanted = [host.as_str(), &port, database, user];
        let found = text.lines().find_map(|line| password_of(line, wanted));
        match found {
            Some(password) => require_private(path).map(|()| Some(password)),
            None => Ok(None),
        }
    }
}

fn require_private(path: &Path) -> Result<(), Error> {
    let status = std::fs::metadata(path);
    let mode = status
        .map_err(Error::io(format!("looking at {}", path.display())))?
        .mode();
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(Error::OpenPasswordFile {
            path: path.to_owned(),
            mode: mode & 0o7777,
        }),
    }
}

/// Reads a regular file of the user's, which may be a link; `None` where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Error> {
    let Ok(real) = path.canonicalize() else {
        return Ok(None);
    };
    let text = plain_file::read_start(&real, FILE_BYTES_MAX);
    text.map_err(Error::io(format!("reading {}", path.display())))
}

/// Returns the password of a line `host:port:database:user:password` that is of this connection:
/// `*` is any, and a backslash takes the next character as it is.
fn password_of(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![(String::new(), false)];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        // What follows the fourth colon is the password, whatever it has.
        let is_end = character == ':' && fields.len() <= wanted.len();
        let (field, is_escaped) = fields.last_mut()?;
        match character {
            '\\' => {
                *is_escaped = true;
                field.extend(characters.next());
            }
            _ if is_end => fields.push((String::new(), false)),
            other => field.push(other),
        }
    }
    let (password, _) = fields.pop().filter(|_| fields.len() == wanted.len())?;
    let is_any = |(field, is_escaped): &(String, bool)| field == "*" && !is_escaped;
    let mut pairs = fields.iter().zip(wanted);
    let is_of_it = pairs.all(|(field, wanted)| is_any(field) || field.0 == wanted);
    is_of_it.then_some(password)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::{prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn the_first_line_of_the_password_file_that_fits_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pass");
        let text = "# comment\n*:*:*:other:no\ndb:5433:sh\\:op:me:a:b\\\\c\n\
                    /run/x:*:*:me:of-socket\nlocalhost:5432:me:me:of-here\n";
        fs::write(&path, text).unwrap();
        let with_mode = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        with_mode(0o600);
        let found = |url: &str| {
            let mut config: Config = url.parse().unwrap();
            config.user("me");
            Passwords::new(None, Some(path.clone()))
                .unwrap()
                .of(&config)
        };
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(found(url).unwrap().as_deref(), expected, "{url}");
        };
        check("host=db port=5433 dbname=sh:op", Some("a:b\\c"));
        check("host=db port=5433 dbname=shop", None);
        check("host=/run/x", Some("of-socket"));
        check("host=/run/postgresql", Some("of-here"));
        let given = Passwords::new(Some("given".to_owned()), Some(path.clone())).unwrap();
        let config = "host=/run/x user=me".parse().unwrap();
        assert_eq!(given.of(&config).unwrap().as_deref(), Some("given"));
        with_mode(0o640);
        check("host=elsewhere", None);
        let error = found("host=/run/x").unwrap_err().to_string();
        assert!(
            error.contains("pass may be read by others (mode 0640)"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_read_again(
            fields in proptest::array::uniform4("[ -~é]{0,9}"),
            password in "[ -~é]{0,9}",
        ) {
            let escaped = |field: &String| field.replace('\\', "\\\\").replace(':', "\\:");
            let names: Vec<String> = fields.iter().map(escaped).collect();
            let password_there = password.replace('\\', "\\\\");
            let line = format!(" {}:{password_there}", names.join(":"));
            let wanted = [&format!(" {}", fields[0]), &fields[1], &fields[2], &fields[3]];
            let found = password_of(&line, wanted.map(String::as_str));
            prop_assert_eq!(found, Some(password));
        }
    }
}
