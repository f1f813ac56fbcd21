//! Where the servers of a URL listen.

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};

use observed::Address;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Directories of sockets: of Debian and Red Hat. `/tmp`, that of upstream, is anybody's.
pub const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/run/postgresql"];
/// The port of a URL without one.
const PORT: u16 = 5432;

/// Returns every address of these settings, in the order in which they are to be tried; names that
/// cannot be looked up have none.
pub fn addresses(config: &Config) -> Vec<Address> {
    let (hosts, numeric) = (config.get_hosts(), config.get_hostaddrs());
    let count = hosts.len().max(numeric.len());
    let of_index = |index| match (numeric.get(index), hosts.get(index)) {
        (Some(address), _) => vec![Address::Tcp((*address, port_of(config, index)).into())],
        (None, Some(Host::Unix(directory))) => {
            vec![Address::Socket(socket(directory, port_of(config, index)))]
        }
        (None, Some(Host::Tcp(name))) => {
            let found = (name.as_str(), port_of(config, index)).to_socket_addrs();
            found.into_iter().flatten().map(Address::Tcp).collect()
        }
        (None, None) => Vec::new(),
    };
    (0..count).flat_map(of_index).collect()
}

/// Returns the socket of a port.
pub(crate) fn socket(directory: &Path, port: u16) -> PathBuf {
    directory.join(format!(".s.PGSQL.{port}"))
}

/// Returns the first port.
pub(crate) fn port(config: &Config) -> u16 {
    port_of(config, 0)
}

fn port_of(config: &Config, index: usize) -> u16 {
    let ports = config.get_ports();
    ports.get(index).or(ports.first()).copied().unwrap_or(PORT)
}

/// Returns the hosts and ports, in words. Names are escaped: others may have chosen them.
pub(crate) fn in_words(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.escape_debug().to_string(),
        Host::Unix(path) => path.display().to_string().escape_debug().to_string(),
    });
    let numeric = config.get_hostaddrs().iter().map(ToString::to_string);
    let hosts: Vec<String> = match config.get_hosts().is_empty() {
        true => numeric.collect(),
        false => hosts.collect(),
    };
    let ports: Vec<String> = match config.get_ports() {
        [] => vec![PORT.to_string()],
        ports => ports.iter().map(u16::to_string).collect(),
    };
    format!("{}, port {}", hosts.join(", "), ports.join(", "))
}
