//! How a user names a target: `4242`, `mysqld`, `postgres:/data`, `mysql:/data`, `redis:6379`,
//! `oracle:ORCL`, `cgroup:/db`, `unit:postgresql`.

use std::fmt;
use std::str::FromStr;

use super::roles::Server;

/// Words that are not a target.
#[derive(Debug, thiserror::Error)]
#[error(
    "{found:?} is not a target; expected a PID, a process name, postgres:DATADIR, mysql:DATADIR, \
     redis:PORT, valkey:PORT, oracle:SID, cgroup:/PATH or unit:NAME"
)]
pub struct TargetError {
    /// The words.
    found: String,
}

/// A set of processes as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process and its descendants.
    Process(u32),
    /// All processes of a name, and their descendants.
    Name(String),
    /// The PostgreSQL cluster of a data directory.
    Postgres(String),
    /// The server of another kind at a place.
    Server(ServerTarget),
    /// The Oracle instance with this SID.
    Oracle(String),
    /// The processes of a control group and of those below it.
    ControlGroup(String),
    /// The processes of a systemd unit.
    Unit(String),
}

/// A server of one process by its place: `mysql:/var/lib/mysql`, `redis:6379`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTarget {
    /// The word before the colon.
    pub word: &'static str,
    /// Its kind.
    pub server: Server,
    /// Its place.
    pub place: Place,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It listens on this TCP port.
    Port(u16),
    /// It works in this directory.
    Directory(String),
}

impl fmt::Display for ServerTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Port(port) => write!(f, "{}:{port}", self.word),
            Place::Directory(directory) => write!(f, "{}:{directory}", self.word),
        }
    }
}

impl ServerTarget {
    /// The server of a program with this name that works in this directory; `None` if no target of
    /// a server is named so.
    pub fn of_program(program: &str, directory: String) -> Option<Self> {
        let mut rows = Server::TABLE.into_iter();
        let (server, _, _, words) = rows.find(|(_, _, programs, _)| programs.contains(&program))?;
        let word = words.iter().find(|word| program.starts_with(**word));
        Some(ServerTarget {
            word: word?,
            server,
            place: Place::Directory(directory),
        })
    }

    /// Returns the target, or an error if the place is neither a port nor a directory; `None` if no
    /// such server has this word.
    fn parse(word: &str, place: &str) -> Option<Result<Self, ()>> {
        let (word, server) = Server::of_target(word)?;
        let place = match place.parse() {
            Ok(port) => Ok(Place::Port(port)),
            Err(_) if place.contains('/') && !place.contains(char::is_control) => {
                Ok(Place::Directory(place.to_owned()))
            }
            Err(_) => Err(()),
        };
        Some(place.map(|place| ServerTarget {
            word,
            server,
            place,
        }))
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let refused = || TargetError {
            found: text.chars().take(80).collect(),
        };
        let of = |kind: fn(String) -> Target, name: &str| {
            let is_name = !name.is_empty() && !name.contains(char::is_control);
            is_name.then(|| kind(name.to_owned())).ok_or_else(refused)
        };
        let parts = text.split_once(':');
        if let Some(server) = parts.and_then(|(word, place)| ServerTarget::parse(word, place)) {
            return server.map(Target::Server).map_err(|()| refused());
        }
        match parts {
            Some(("postgres", directory)) => of(Target::Postgres, directory),
            Some(("oracle", sid)) => of(Target::Oracle, sid),
            Some(("cgroup", path)) if path.starts_with('/') => of(Target::ControlGroup, path),
            Some(("cgroup", _)) => Err(refused()),
            Some(("unit", name)) => of(Target::Unit, name),
            _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                let pid = text.parse().map_err(|_| refused())?;
                Ok(Target::Process(pid))
            }
            _ => of(Target::Name, text),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Process(pid) => write!(f, "{pid}"),
            Target::Name(name) => write!(f, "{name}"),
            Target::Postgres(directory) => write!(f, "postgres:{directory}"),
            Target::Server(server) => server.fmt(f),
            Target::Oracle(sid) => write!(f, "oracle:{sid}"),
            Target::ControlGroup(path) => write!(f, "cgroup:{path}"),
            Target::Unit(name) => write!(f, "unit:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written_back() {
        for text in [
            "4242",
            "mysqld",
            "postgres:/data",
            "mysql:/var/lib/mysql",
            "mariadb:3306",
            "redis:6379",
            "valkey:./data",
            "oracle:ORCL",
            "cgroup:/db/a",
            "unit:postgresql",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!("17".parse::<Target>().unwrap(), Target::Process(17));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for text in [
            "",
            "oracle:",
            "cgroup:db",
            "99999999999",
            "a\nb",
            "redis:",
            "redis:65536",
            "mysql:-1",
            "valkey:/a\u{1b}",
        ] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains("is not a target"), "{error}");
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("\\PC*", &|text| {
            let _ = text.parse::<Target>();
        });
    }
}
