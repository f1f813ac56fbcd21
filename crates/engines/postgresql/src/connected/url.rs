//! The URL of a server that is already running: parses it, connects to it, and removes its
//! password.

use postgres::{Client, NoTls};

use crate::Error;
use crate::answering::require_answer_of;

/// Parses the URL of a server. With `is_read_only`, the server itself rejects writes in the
/// session.
pub(super) fn config(url: &str, is_read_only: bool) -> Result<postgres::Config, Error> {
    let mut config: postgres::Config = url.parse().map_err(|cause| Error::Url { cause })?;
    config.application_name("numalab");
    if is_read_only {
        let given = config.get_options().unwrap_or_default();
        let options = format!("{given} -c default_transaction_read_only=on");
        config.options(options.trim());
    }
    Ok(config)
}

pub(super) fn connect(config: &postgres::Config) -> Result<Client, Error> {
    let hosts = config.get_hosts().iter().map(|host| match host {
        postgres::config::Host::Tcp(name) => name.clone(),
        postgres::config::Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<String> = hosts.collect();
    let ports: Vec<String> = config.get_ports().iter().map(u16::to_string).collect();
    let what = format!(
        "connecting to {}, port {}",
        hosts.join(", "),
        match ports.is_empty() {
            true => "5432".to_owned(),
            false => ports.join(", "),
        }
    );
    require_answer_of(config)?;
    config.connect(NoTls).map_err(Error::client(what))
}

/// Returns a URL that can be stored: the parameters of the configuration, without the password.
pub(super) fn without_password(url: &str, config: &postgres::Config) -> String {
    let password = config.get_password().map(String::from_utf8_lossy);
    match password {
        None => url.to_owned(),
        Some(_) => plain_words(config),
    }
}

/// Returns `host=… port=… user=… dbname=…`.
fn plain_words(config: &postgres::Config) -> String {
    let word = |name: &str, value: &str| {
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        format!("{name}='{value}'")
    };
    let hosts = config.get_hosts().iter().map(|host| match host {
        postgres::config::Host::Tcp(name) => word("host", name),
        postgres::config::Host::Unix(path) => word("host", &path.display().to_string()),
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
    use super::{config, without_password};

    #[test]
    fn a_password_is_not_kept() {
        let kept = |url: &str| without_password(url, &config(url, false).unwrap());
        let plain = "postgresql://me@db:5433/shop";
        assert_eq!(kept(plain), plain);
        let secret = kept("postgresql://me:s%27ecret@db:5433/sh%27op");
        assert_eq!(secret, "host='db' port='5433' user='me' dbname='sh\\'op'");
        assert_eq!(config(&secret, false).unwrap().get_dbname(), Some("sh'op"));
    }

    #[test]
    fn what_is_no_url_is_refused_without_showing_it() {
        let error = config("postgresql://me:secret@:::/", false).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("URL") && !text.contains("secret"), "{text}");
    }
}
