//! The TCP ports on which a process listens: `/proc/PID/net/tcp` and `tcp6` (proc_pid_net(5)) have
//! the sockets of its network namespace, `/proc/PID/fd` has its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::socket_descriptors::sockets_of;
use crate::{Error, Root};

/// `TCP_LISTEN` (include/net/tcp_states.h), in hexadecimal digits as in the files.
const LISTENING: &str = "0A";
/// The files list listening sockets first (net/ipv4/tcp_ipv4.c, `tcp_seek_last_pos`), and a busy
/// server may have a hundred thousand others.
const BYTES_MAX: u64 = 1 << 20;

/// Returns the TCP ports on which process `pid` listens; none in a capture, which has no sockets.
///
/// # Errors
/// When the process is gone or may not be inspected, or a file is malformed.
pub fn listening_ports(root: &Root, pid: u32) -> Result<BTreeSet<u16>, Error> {
    let mut by_socket = BTreeMap::new();
    for file in ["tcp", "tcp6"] {
        if let Some(file) = root.read_start(&format!("proc/{pid}/net/{file}"), BYTES_MAX)? {
            for (number, line) in file.lines().skip(1) {
                let expected = "N: ADDRESS:PORT ADDRESS:PORT STATE, and an inode as the tenth word";
                let found =
                    listening(line).ok_or_else(|| file.malformed(number, expected, line))?;
                by_socket.extend(found);
            }
        }
    }
    let sockets = sockets_of(root, pid)?;
    let ports = sockets
        .iter()
        .filter_map(|socket| by_socket.get(socket).copied());
    Ok(ports.collect())
}

/// Returns inode and port of a socket that listens: an empty option inside for one in another
/// state, `None` for a line in another form.
#[expect(
    clippy::option_option,
    reason = "a malformed line is not a socket in another state"
)]
fn listening(line: &str) -> Option<Option<(u64, u16)>> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (_, port) = words.next()?.rsplit_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let (_, state) = (words.next()?, words.next()?);
    // Queues, timer, retransmissions, user and timeout come before the inode.
    let inode: u64 = words.nth(5)?.parse().ok()?;
    Some((state == LISTENING).then_some((inode, port)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_that_this_process_listens_on_is_found_in_both_families() {
        let listeners = ["127.0.0.1:0", "[::1]:0"].map(|at| TcpListener::bind(at).ok());
        let mut expected = listeners.iter().flatten();
        let found = listening_ports(&Root::live(), std::process::id()).unwrap();
        assert!(expected.clone().count() > 0);
        assert!(expected.all(|it| found.contains(&it.local_addr().unwrap().port())));
        let connected = listeners[0].as_ref().unwrap().local_addr().unwrap();
        let client = std::net::TcpStream::connect(connected).unwrap();
        let port = client.local_addr().unwrap().port();
        let found = listening_ports(&Root::live(), std::process::id()).unwrap();
        assert!(!found.contains(&port), "a connection does not listen");
    }

    #[test]
    fn sockets_that_listen_are_told_from_others() {
        let line = |state: &str| {
            format!(
                "   0: 0100007F:18EB 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  \
                 105        0 12345 1 0000000000000000 100 0 0 10 0"
            )
        };
        assert_eq!(listening(&line("0A")), Some(Some((12345, 6379))));
        assert_eq!(listening(&line("01")), Some(None));
        assert_eq!(listening("   0: 0100007F:18EB 00000000:0000 0A"), None);
        assert_eq!(listening("0: 0100007F:18EBF 0:0 0A a b c d e 1"), None);
    }

    #[test]
    fn no_line_panics() {
        testing::any_text("[0-9A-F: ]{0,80}", &|line| {
            let _ = listening(line);
        });
    }
}
