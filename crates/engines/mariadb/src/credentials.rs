//! The name and password with which MariaDB's own programs let themselves in: of option files and
//! of `MYSQL_PWD` (MariaDB manual, "Configuring MariaDB with Option Files").

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use linux::plain_file;
use server::Error;

/// Option files of the machine; the user's own follows. What comes later counts.
const FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];
const OWN_FILE: &str = ".my.cnf";
/// Groups that all client programs read.
const GROUPS: [&str; 3] = ["[client]", "[client-server]", "[client-mariadb]"];
const PASSWORD: &str = "MYSQL_PWD";
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Users whose servers get a password, beside the user who asks: a server of any other could log in
/// elsewhere with it.
const TRUSTED: [&str; 2] = ["mysql", "root"];

/// A name and a password, as far as they are known.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub user: Option<String>,
    pub password: Option<String>,
}

impl Credentials {
    /// Those that the user of this process has set up.
    ///
    /// # Errors
    /// When a file is there and cannot be read.
    pub(crate) fn of_process() -> Result<Self, Error> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let own = home.map(|home| home.join(OWN_FILE));
        let files = FILES.iter().map(PathBuf::from).chain(own);
        let mut found = Credentials::default();
        for file in files {
            found.take(&read(&file)?);
        }
        let password = std::env::var(PASSWORD).ok();
        found.password = found.password.or(password).filter(|it| !it.is_empty());
        Ok(found)
    }

    /// Returns them if a server of the user `owner` may have them.
    pub(crate) fn for_server_of(self, owner: Option<&str>, asker: Option<&str>) -> Option<Self> {
        let is_usual = owner.is_some_and(|owner| TRUSTED.contains(&owner));
        let is_trusted = is_usual || (owner.is_some() && owner == asker);
        let is_any = self.user.is_some() || self.password.is_some();
        (is_trusted && is_any).then_some(self)
    }

    /// Takes what the groups of a file say.
    fn take(&mut self, text: &str) {
        let mut is_ours = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                is_ours = GROUPS.contains(&line);
            } else if let Some((key, value)) = line.split_once('=').filter(|_| is_ours) {
                match key.trim() {
                    "user" => self.user = Some(value_of(value)),
                    "password" => self.password = Some(value_of(value)),
                    _ => {}
                }
            }
        }
    }
}

/// Reads an option file; nothing where there is none, or where everyone may write it, as MariaDB's
/// programs ignore it then.
fn read(path: &Path) -> Result<String, Error> {
    let status = path
        .canonicalize()
        .and_then(|real| Ok((real.metadata()?, real)));
    let Ok((status, real)) = status else {
        return Ok(String::new());
    };
    if status.permissions().mode() & 0o002 != 0 {
        return Ok(String::new());
    }
    let text = plain_file::read_start(&real, FILE_BYTES_MAX);
    let text = text.map_err(Error::io(format!("reading {}", path.display())))?;
    Ok(text.unwrap_or_default())
}

/// Returns a value without its quotes, a comment behind it, and escapes.
fn value_of(text: &str) -> String {
    let text = text.trim();
    let quote = text.chars().next().filter(|it| ['\'', '"'].contains(it));
    let mut value = String::new();
    let mut characters = text.chars().skip(quote.iter().count());
    while let Some(character) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(unescaped)),
            '#' if quote.is_none() => break,
            other if Some(other) == quote => return value,
            other => value.push(other),
        }
    }
    value.trim_end().to_owned()
}

fn unescaped(character: char) -> char {
    match character {
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        's' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_of_the_groups_of_clients_counts() {
        let mut found = Credentials::default();
        found.take("password=no\n[mysqld]\nuser=mysql\n[client]\nuser = dba # we\npassword='a#b'");
        found.take("[client-server]\nuser=clerk\n[mysqldump]\npassword=x\n");
        assert_eq!(found.user.as_deref(), Some("clerk"));
        assert_eq!(found.password.as_deref(), Some("a#b"));
        let known = |owner| found.clone().for_server_of(owner, Some("me")).is_some();
        assert!(known(Some("mysql")) && known(Some("root")) && known(Some("me")));
        assert!(!known(Some("mallory")) && !known(None));
        let none = Credentials::default();
        assert!(none.for_server_of(Some("mysql"), None).is_none());
    }

    #[test]
    fn a_file_that_everyone_may_write_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.cnf");
        assert_eq!(read(&path).unwrap(), "");
        std::fs::write(&path, "x").unwrap();
        let with_mode = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            read(&path).unwrap()
        };
        assert_eq!(with_mode(0o600), "x");
        assert_eq!(with_mode(0o602), "");
    }

    proptest! {
        #[test]
        fn a_quoted_value_is_read_again(value in "[ -~é\t\n]{0,20}") {
            let escaped = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            let escaped = escaped.replace('\t', r"\t");
            prop_assert_eq!(value_of(&format!(" \"{escaped}\" # comment")), value);
        }
    }
}
