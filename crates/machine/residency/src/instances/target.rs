//! How a user names a target: `4242`, `mysqld`, `postgres:/data`, `oracle:ORCL`, `cgroup:/db`,
//! `unit:postgresql`.

use std::fmt;
use std::str::FromStr;

/// Words that are not a target.
#[derive(Debug, thiserror::Error)]
#[error(
    "{found:?} is not a target; expected a PID, a process name, postgres:DATADIR, oracle:SID, \
     cgroup:/PATH or unit:NAME"
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
    /// The Oracle instance with this SID.
    Oracle(String),
    /// The processes of a control group and of those below it.
    ControlGroup(String),
    /// The processes of a systemd unit.
    Unit(String),
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
        match text.split_once(':') {
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
            Target::Oracle(sid) => write!(f, "oracle:{sid}"),
            Target::ControlGroup(path) => write!(f, "cgroup:{path}"),
            Target::Unit(name) => write!(f, "unit:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_is_read_and_written_back() {
        for text in [
            "4242",
            "mysqld",
            "postgres:/data",
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
        for text in ["", "oracle:", "cgroup:db", "99999999999", "a\nb"] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains("is not a target"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Target>();
        }
    }
}
