//! The URL of a server that is already running: parses it, completes it by what libpq's programs
//! take from their surroundings, and removes its password.

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::Error;
use crate::surroundings::Surroundings;

/// What a URL says, completed.
#[derive(Clone)]
pub struct ServerUrl {
    /// The settings.
    pub config: Config,
    is_role_named: bool,
    has_password: bool,
}

impl ServerUrl {
    /// Parses the URL of a server. With `is_read_only`, the server itself rejects writes in the
    /// session.
    pub fn parse(url: &str, is_read_only: bool) -> Result<Self, Error> {
        let (url, [service, passfile]) = without_ours(url);
        let mut config: Config = url.parse().map_err(|cause| Error::Url { cause })?;
        let has_password = config.get_password().is_some();
        let surroundings = Surroundings::of_process();
        let is_role_named = surroundings.complete(&mut config, service, passfile)?;
        config.application_name("numalab");
        if is_read_only {
            let given = config.get_options().unwrap_or_default();
            let options = format!("{given} -c default_transaction_read_only=on");
            config.options(options.trim());
        }
        Ok(ServerUrl {
            config,
            is_role_named,
            has_password,
        })
    }

    /// Whether the URL itself has a password, which stands on the command line.
    pub fn has_password(&self) -> bool {
        self.has_password
    }

    /// Whether the user chose the role; else it is the one named like them.
    pub(crate) fn is_role_named(&self) -> bool {
        self.is_role_named
    }
}

/// Takes the settings out of a URL that the library does not know: `service` and `passfile`.
fn without_ours(url: &str) -> (String, [Option<String>; 2]) {
    let mut found = [None, None];
    let mut is_ours = |word: &str, decode: fn(&str) -> String| {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let place = ["service", "passfile"]
            .iter()
            .position(|it| *it == key.trim());
        place
            .map(|place| found[place] = Some(decode(value.trim())))
            .is_some()
    };
    if url.starts_with("postgresql://") || url.starts_with("postgres://") {
        let Some((start, settings)) = url.split_once('?') else {
            return (url.to_owned(), found);
        };
        let kept = settings
            .split('&')
            .filter(|word| !is_ours(word, percent_decoded));
        let kept: Vec<&str> = kept.collect();
        return (format!("{start}?{}", kept.join("&")), found);
    }
    let kept = words(url)
        .into_iter()
        .filter(|word| !is_ours(word, unquoted));
    let kept: Vec<&str> = kept.collect();
    (kept.join(" "), found)
}

/// Splits `key=value key='a value'` at spaces outside of quotes.
fn words(text: &str) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let words = text.split(move |character: char| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match character {
            '\\' => is_escaped = !was_escaped,
            '\'' if !was_escaped => is_quoted = !is_quoted,
            _ => {}
        }
        character.is_ascii_whitespace() && !is_quoted
    });
    words.filter(|word| !word.is_empty()).collect()
}

fn unquoted(value: &str) -> String {
    let value = value.strip_prefix('\'').unwrap_or(value);
    let value = value.strip_suffix('\'').unwrap_or(value);
    let mut characters = value.chars();
    let next = || match characters.next()? {
        '\\' => characters.next(),
        other => Some(other),
    };
    std::iter::from_fn(next).collect()
}

fn percent_decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let [first, more @ ..] = rest {
        let code = more.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|it| std::str::from_utf8(it).ok());
        match code.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns `host=… port=… user=… dbname=…`, which can be stored: without the password.
pub fn without_password(config: &Config) -> String {
    let word = |name: &str, value: &str| {
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        format!("{name}='{value}'")
    };
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => word("host", name),
        Host::Unix(path) => word("host", &path.display().to_string()),
    });
    let ports = config
        .get_ports()
        .iter()
        .map(|port| word("port", &port.to_string()));
    let user = config.get_user().map(|user| word("user", user));
    let database = config.get_dbname().map(|name| word("dbname", name));
    let words = hosts
        .take(1)
        .chain(ports.take(1))
        .chain(user)
        .chain(database);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::{ServerUrl, without_ours, without_password};

    #[test]
    fn a_password_is_not_kept() {
        let parsed = |url: &str| ServerUrl::parse(url, false).unwrap();
        let address = parsed("postgresql://me:s%27ecret@db:5433/sh%27op");
        assert!(address.has_password());
        let kept = without_password(&address.config);
        assert_eq!(kept, "host='db' port='5433' user='me' dbname='sh\\'op'");
        let again = parsed(&kept);
        assert!(!again.has_password());
        assert_eq!(again.config.get_dbname(), Some("sh'op"));
    }

    #[test]
    fn what_is_no_url_is_refused_without_showing_it() {
        let error = ServerUrl::parse("postgresql://me:secret@:::/", false)
            .err()
            .unwrap();
        let text = error.to_string();
        assert!(text.contains("URL") && !text.contains("secret"), "{text}");
    }

    #[test]
    fn what_the_library_does_not_know_is_taken_out() {
        let check = |url: &str, rest: &str, service: Option<&str>, passfile: Option<&str>| {
            let (kept, found) = without_ours(url);
            let found = found.each_ref().map(Option::as_deref);
            assert_eq!((kept.as_str(), found), (rest, [service, passfile]), "{url}");
        };
        check("postgresql://db/x", "postgresql://db/x", None, None);
        check(
            "postgresql://db/x?service=a%20b&sslmode=disable&passfile=/p",
            "postgresql://db/x?sslmode=disable",
            Some("a b"),
            Some("/p"),
        );
        check("service=shop", "", Some("shop"), None);
        check(
            r"user='a service=x \' ' passfile='/a b' port=1",
            r"user='a service=x \' ' port=1",
            None,
            Some("/a b"),
        );
    }

    proptest! {
        #[test]
        fn no_url_panics(url in "(postgresql://)?[ -~é]{0,40}") {
            if let Ok(address) = ServerUrl::parse(&url, true) {
                prop_assert!(!without_password(&address.config).contains("password="));
            }
        }
    }
}
