//! What libpq's programs take besides the URL: variables, a service, and the password file
//! (PostgreSQL manual, "Environment Variables", "The Connection Service File", "The Password
//! File"). So a password need not stand on the command line, where every user can read it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, SslMode};

use crate::Error;
use crate::passwords::{Passwords, read};
use crate::places::{SOCKET_DIRECTORIES, port, socket};

/// The settings that are taken, with their variables.
const VARIABLES: [(&str, &str); 14] = [
    ("service", "PGSERVICE"),
    ("passfile", "PGPASSFILE"),
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("dbname", "PGDATABASE"),
    ("password", "PGPASSWORD"),
    ("options", "PGOPTIONS"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("sslmode", "PGSSLMODE"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("gssencmode", "PGGSSENCMODE"),
    ("require_auth", "PGREQUIREAUTH"),
];
/// Service files of the machine: `PGSYSCONFDIR` of Debian, Red Hat and upstream.
const SERVICE_FILES: [&str; 3] = [
    "/etc/postgresql-common/pg_service.conf",
    "/etc/sysconfig/pgsql/pg_service.conf",
    "/usr/local/pgsql/etc/pg_service.conf",
];

/// Variables and folders of the user who runs numalab.
#[derive(Default)]
pub struct Surroundings {
    variables: BTreeMap<String, String>,
    home: Option<PathBuf>,
    user: Option<String>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        let is_taken = |name: &str| name.starts_with("PG");
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| is_taken(name));
        Surroundings {
            variables: variables.collect(),
            home: std::env::home_dir(),
            user: observed::name_of_user(linux::process::user()),
        }
    }

    /// Completes the settings of a URL, which come first, by those of a service, then by variables,
    /// then by libpq's defaults. `service` and `passfile` are those of the URL. Returns whether a
    /// role is named anywhere, so that it is not the one that is named like the user.
    ///
    /// # Errors
    /// When a setting or its file is not understood, or there is no such service.
    pub(crate) fn complete(
        &self,
        config: &mut Config,
        service: Option<String>,
        passfile: Option<String>,
    ) -> Result<bool, Error> {
        let service = match service.or_else(|| self.variable("service")) {
            Some(name) => self.service(&name)?,
            None => BTreeMap::new(),
        };
        let setting = |key: &str| service.get(key).cloned().or_else(|| self.variable(key));
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            for host in list(setting("host")) {
                config.host(&host);
            }
            for address in list(setting("hostaddr")) {
                config.hostaddr(parsed("hostaddr", "an address", &address)?);
            }
        }
        if config.get_ports().is_empty() {
            for port in list(setting("port")) {
                config.port(parsed("port", "a number up to 65535", &port)?);
            }
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            let has_socket = |directory: &&str| socket(Path::new(directory), port(config)).exists();
            let directory = SOCKET_DIRECTORIES.iter().find(|it| has_socket(it));
            config.host(*directory.unwrap_or(&"localhost"));
        }
        if let (None, Some(options)) = (config.get_options(), setting("options")) {
            config.options(&options);
        }
        if let (None, Some(text)) = (config.get_connect_timeout(), setting("connect_timeout")) {
            let seconds: i64 = parsed("connect_timeout", "whole seconds", &text)?;
            // Zero and less: no limit.
            if let Some(seconds) = u64::try_from(seconds).ok().filter(|it| *it > 0) {
                config.connect_timeout(Duration::from_secs(seconds));
            }
        }
        require_plain(config, setting)?;
        if let (None, Some(database)) = (config.get_dbname(), setting("dbname")) {
            config.dbname(&database);
        }
        let named = config
            .get_user()
            .map(str::to_owned)
            .or_else(|| setting("user"));
        if let Some(user) = named.as_ref().or(self.user.as_ref()) {
            config.user(user);
        }
        let is_role_named = named.is_some();
        if config.get_password().is_some() {
            return Ok(is_role_named);
        }
        let file = passfile.or_else(|| setting("passfile"));
        let passwords = self.passwords_of(setting("password"), file)?;
        if let Some(password) = passwords.of(config)? {
            config.password(password);
        }
        Ok(is_role_named)
    }

    /// Returns the passwords of this user.
    ///
    /// # Errors
    /// When their file cannot be read.
    pub fn passwords(&self) -> Result<Passwords, Error> {
        self.passwords_of(self.variable("password"), self.variable("passfile"))
    }

    fn passwords_of(
        &self,
        given: Option<String>,
        file: Option<String>,
    ) -> Result<Passwords, Error> {
        let own = || Some(self.home.as_ref()?.join(".pgpass"));
        Passwords::new(given, file.map(PathBuf::from).or_else(own))
    }

    fn variable(&self, key: &str) -> Option<String> {
        let (_, name) = VARIABLES.iter().find(|(of, _)| *of == key)?;
        self.variables
            .get(*name)
            .filter(|it| !it.is_empty())
            .cloned()
    }

    /// Returns the settings of a service: those of the user's file, else of the machine's.
    fn service(&self, name: &str) -> Result<BTreeMap<String, String>, Error> {
        let own = match self.variables.get("PGSERVICEFILE") {
            Some(path) => Some(PathBuf::from(path)),
            None => self.home.as_ref().map(|home| home.join(".pg_service.conf")),
        };
        let of_machine = match self.variables.get("PGSYSCONFDIR") {
            Some(folder) => vec![Path::new(folder).join("pg_service.conf")],
            None => SERVICE_FILES.map(PathBuf::from).to_vec(),
        };
        for path in own.into_iter().chain(of_machine) {
            let text = read(&path)?.unwrap_or_default();
            if let Some(found) = section(&text, name) {
                return Ok(found);
            }
        }
        Err(Error::Setting {
            what: "the service of the connection",
            expected: "one of ~/.pg_service.conf, PGSERVICEFILE or PGSYSCONFDIR".to_owned(),
            found: format!("{name:?}, which is in none of them"),
        })
    }
}

/// Refuses what asks for security that a plain connection does not have: it is never left out in
/// silence.
fn require_plain(config: &Config, setting: impl Fn(&str) -> Option<String>) -> Result<(), Error> {
    /// The settings, with the values that a plain connection meets.
    const MET: [(&str, &[&str]); 4] = [
        ("sslmode", &["disable", "allow", "prefer"]),
        ("channel_binding", &["disable", "prefer"]),
        ("gssencmode", &["disable", "prefer"]),
        ("require_auth", &[]),
    ];
    let of_url = |key: &str| match key {
        "sslmode" if config.get_ssl_mode() == SslMode::Require => Some("require".to_owned()),
        "sslmode" if config.get_ssl_mode() == SslMode::Disable => Some("disable".to_owned()),
        "channel_binding" if config.get_channel_binding() == ChannelBinding::Require => {
            Some("require".to_owned())
        }
        _ => None,
    };
    for (key, met) in MET {
        let value = of_url(key).or_else(|| setting(key));
        if let Some(value) = value.filter(|value| !met.contains(&value.as_str())) {
            let (setting, value) = (key, value.escape_debug().to_string());
            return Err(Error::Insecure { setting, value });
        }
    }
    Ok(())
}

fn list(text: Option<String>) -> Vec<String> {
    let text = text.unwrap_or_default();
    let items = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    items.map(str::to_owned).collect()
}

fn parsed<T: std::str::FromStr>(
    what: &'static str,
    expected: &str,
    text: &str,
) -> Result<T, Error> {
    text.trim().parse().map_err(|_| Error::Setting {
        what,
        expected: expected.to_owned(),
        found: format!("{text:?}"),
    })
}

/// Returns the settings of a section of a service file: `[name]`, `key=value`, `#` comments.
fn section(text: &str, name: &str) -> Option<BTreeMap<String, String>> {
    let lines = text.lines().map(str::trim);
    let mut lines = lines.skip_while(|line| *line != format!("[{name}]"));
    lines.next()?;
    let of_it = lines.take_while(|line| !line.starts_with('['));
    let pairs = of_it.filter(|line| !line.starts_with('#'));
    let pairs = pairs.filter_map(|line| line.split_once('='));
    Some(
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio_postgres::config::Host;

    use super::*;

    /// Surroundings with a home that has these files.
    fn with(
        variables: &[(&str, &str)],
        files: &[(&str, &str)],
    ) -> (Surroundings, tempfile::TempDir) {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(home.path().join(name), text).unwrap();
        }
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        let surroundings = Surroundings {
            variables: variables.collect(),
            home: Some(home.path().to_owned()),
            user: Some("me".to_owned()),
        };
        (surroundings, home)
    }

    fn password(config: &Config) -> Option<&str> {
        config
            .get_password()
            .map(|it| std::str::from_utf8(it).unwrap())
    }

    #[test]
    fn the_url_comes_before_the_service_and_that_before_variables() {
        let variables = [
            ("PGHOST", "elsewhere"),
            ("PGPORT", "1"),
            ("PGUSER", "nobody"),
            ("PGPASSWORD", "of-variable"),
            ("PGCONNECT_TIMEOUT", "3"),
            ("PGSERVICE", "shop"),
        ];
        let file = "# ours\n[other]\nuser=other\n[shop]\nhost=db\nport=5433\nuser=clerk\n";
        let (surroundings, _home) = with(&variables, &[(".pg_service.conf", file)]);
        let mut config: Config = "user=boss".parse().unwrap();
        assert!(surroundings.complete(&mut config, None, None).unwrap());
        assert_eq!(config.get_hosts(), [Host::Tcp("db".to_owned())]);
        assert_eq!(config.get_ports(), [5433]);
        assert_eq!(config.get_user(), Some("boss"));
        assert_eq!(password(&config), Some("of-variable"));
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        let missing = surroundings.complete(&mut config, Some("none".to_owned()), None);
        assert!(
            missing
                .unwrap_err()
                .to_string()
                .contains("\"none\", which is in none")
        );
    }

    #[test]
    fn security_that_is_not_there_is_refused() {
        let check = |url: &str, variables: &[(&str, &str)], expected: Option<&str>| {
            let (surroundings, _home) = with(variables, &[]);
            let mut config: Config = url.parse().unwrap();
            let refused = surroundings.complete(&mut config, None, None).err();
            let text = refused.map(|it| it.to_string());
            let start = text.as_deref().map(|it| it.split_once(' ').unwrap().0);
            assert_eq!(start, expected, "{url:?} {variables:?}");
        };
        check("sslmode=require", &[], Some("sslmode=require"));
        check("sslmode=disable", &[("PGSSLMODE", "require")], None);
        check(
            "channel_binding=require",
            &[],
            Some("channel_binding=require"),
        );
        for mode in ["require", "verify-ca", "verify-full", "nonsense"] {
            check("", &[("PGSSLMODE", mode)], Some(&format!("sslmode={mode}")));
        }
        check("", &[("PGSSLMODE", "prefer")], None);
        check(
            "",
            &[("PGGSSENCMODE", "require")],
            Some("gssencmode=require"),
        );
        check("", &[("PGREQUIREAUTH", "none")], Some("require_auth=none"));
    }

    #[test]
    fn nothing_around_is_libpqs_default() {
        let (surroundings, _home) = with(&[], &[]);
        let mut config: Config = "port=1".parse().unwrap();
        assert!(!surroundings.complete(&mut config, None, None).unwrap());
        assert_eq!(config.get_hosts(), [Host::Tcp("localhost".to_owned())]);
        assert_eq!((config.get_user(), password(&config)), (Some("me"), None));
        let (surroundings, _home) = with(&[("PGPORT", "5432x")], &[]);
        let error = surroundings
            .complete(&mut Config::new(), None, None)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "port: expected a number up to 65535, found \"5432x\""
        );
    }
}
