//! The sockets of servers on this machine, by names that their users chose: held first, so that
//! another user can connect to what this one may reach, and connected to within a limit.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FileType, OFlags, fstat};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::plain_file;

/// A Unix socket, held by its file.
#[derive(Debug)]
pub struct LocalSocket(OwnedFd);

impl LocalSocket {
    /// Holds the socket of this name, without connecting to it. The name may have any length.
    ///
    /// # Errors
    /// When there is none, or it is a symbolic link or no socket.
    pub fn hold(path: &Path) -> io::Result<Self> {
        let held = plain_file::hold(path, OFlags::NOFOLLOW)?;
        match FileType::from_raw_mode(fstat(&held)?.st_mode) {
            FileType::Socket => Ok(LocalSocket(held)),
            _ => Err(io::Error::other("not a socket")),
        }
    }

    /// Connects. A server that accepts nobody lets clients wait once its queue is full: gives up
    /// then.
    ///
    /// # Errors
    /// `TimedOut` after `within`; when nobody listens, or the user of this thread may not connect.
    pub fn connect(&self, within: Duration) -> io::Result<UnixStream> {
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
        // Also limits how long connect(2) waits (socket(7), `SO_SNDTIMEO`).
        set_socket_timeout(&socket, Timeout::Send, Some(within))?;
        let address = SocketAddrUnix::new(plain_file::path_of(&self.0))?;
        match connect(&socket, &address) {
            Ok(()) => Ok(UnixStream::from(socket)),
            Err(rustix::io::Errno::AGAIN) => Err(io::ErrorKind::TimedOut.into()),
            Err(cause) => Err(cause.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_server_that_accepts_nobody_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        // Longer than the name of a socket may be (unix(7)).
        let (short, long) = (folder.path().join("x"), folder.path().join("x".repeat(120)));
        std::fs::create_dir(&short).unwrap();
        let listener = UnixListener::bind(short.join("s")).unwrap();
        std::fs::rename(short, &long).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let held = LocalSocket::hold(&long.join("s")).unwrap();
        let mut clients = Vec::new();
        let error = loop {
            match held.connect(Duration::from_millis(20)) {
                Ok(client) => clients.push(client),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(clients.len(), 1, "a queue of length 0 has room for one");
    }

    #[test]
    fn only_a_socket_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "").unwrap();
        let _listener = UnixListener::bind(path("socket")).unwrap();
        std::os::unix::fs::symlink(path("socket"), path("link")).unwrap();
        assert!(LocalSocket::hold(&path("socket")).is_ok());
        for other in ["file", "link", "none"] {
            assert!(LocalSocket::hold(&path(other)).is_err(), "{other}");
        }
    }
}
