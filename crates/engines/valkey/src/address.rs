//! Where a running server can be asked: what its title says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use observed::Address;
use residency::instances::Place;

/// Reads `redis-server 127.0.0.1:6379 [cluster]` or `redis-server unixsocket:/run/a`
/// (`redisSetProcTitle` of server.c); a port that the user named, where the title says nothing.
pub(crate) fn address_of(title: &str, place: &Place) -> Option<Address> {
    of_title(title).or_else(|| match place {
        Place::Port(port) => Some(at(Ipv4Addr::LOCALHOST, *port)),
        Place::Directory(_) => None,
    })
}

fn of_title(title: &str) -> Option<Address> {
    let (_, words) = title.split_once(' ')?;
    if let Some(path) = words.strip_prefix("unixsocket:") {
        let path = path.strip_suffix(" [cluster]").unwrap_or(path);
        return path.starts_with('/').then(|| Address::Socket(path.into()));
    }
    let (host, port) = words.split(' ').next()?.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => Some(at(Ipv6Addr::LOCALHOST, port)),
        Ok(host) if !host.is_unspecified() => Some(Address::Tcp(SocketAddr::new(host, port))),
        // `*`, or a name: the server is on this machine.
        _ => Some(at(Ipv4Addr::LOCALHOST, port)),
    }
}

fn at(host: impl Into<IpAddr>, port: u16) -> Address {
    Address::Tcp(SocketAddr::new(host.into(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_title_says_where_to_ask() {
        let check = |title, expected: Option<&str>| {
            let found = address_of(title, &Place::Directory("/a".into()));
            let shown = found.map(|it| it.to_string());
            assert_eq!(shown.as_deref(), expected, "{title}");
        };
        check("redis-server *:6379", Some("127.0.0.1:6379"));
        check(
            "/usr/bin/redis-server 10.0.0.1:7000 [cluster]",
            Some("10.0.0.1:7000"),
        );
        check("valkey-server ::1:7000", Some("[::1]:7000"));
        check("valkey-server [::]:7000", Some("[::1]:7000"));
        check(
            "redis-server unixsocket:/run/redis.sock",
            Some("/run/redis.sock"),
        );
        check("redis-server unixsocket:socket", None);
        check("redis-server *:0", None);
        check("redis-server", None);
        let by_port = address_of("my own title", &Place::Port(7001)).unwrap();
        assert_eq!(by_port.to_string(), "127.0.0.1:7001");
    }
}
