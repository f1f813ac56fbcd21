//! A connection to a server that may be sick or hostile: how long it takes and how much it says
//! has a limit.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use linux::local_socket::LocalSocket;

use crate::Error;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Socket(PathBuf),
    /// A TCP address.
    Tcp(SocketAddr),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Socket(path) => write!(f, "{}", path.display()),
            Address::Tcp(address) => address.fmt(f),
        }
    }
}

impl Address {
    /// Holds the address, so that another user can connect to what this one may reach: sockets of
    /// another mount namespace lie below `/proc/PID/root`.
    ///
    /// # Errors
    /// When there is no such socket.
    pub fn hold(self) -> Result<HeldAddress, Error> {
        let socket = match &self {
            Address::Socket(path) => Some(LocalSocket::hold(path).map_err(self.not_connected())?),
            Address::Tcp(_) => None,
        };
        Ok(HeldAddress {
            address: self,
            socket,
        })
    }

    fn not_connected(&self) -> impl FnOnce(io::Error) -> Error {
        Error::of(format!("connecting to {self}"))
    }
}

/// An address that is held.
#[derive(Debug)]
pub struct HeldAddress {
    address: Address,
    socket: Option<LocalSocket>,
}

impl HeldAddress {
    /// The address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Connects as the user of this thread. All that follows has no limit until
    /// [`Socket::limit`].
    ///
    /// # Errors
    /// When nobody listens, or the server does not accept a connection within this time.
    pub fn connect(&self, within: Duration) -> Result<Socket, Error> {
        let stream = match (&self.socket, &self.address) {
            (Some(socket), _) => socket.connect(within).and_then(|stream| {
                stream.set_write_timeout(None)?;
                Ok(Stream::Unix(stream))
            }),
            (None, Address::Tcp(address)) => {
                TcpStream::connect_timeout(address, within).map(Stream::Tcp)
            }
            (None, Address::Socket(_)) => Err(io::ErrorKind::NotConnected.into()),
        };
        let stream = stream.map_err(|cause| match cause.kind() {
            io::ErrorKind::TimedOut => silent(within),
            _ => cause,
        });
        Ok(Socket {
            stream: stream.map_err(self.address.not_connected())?,
            limit: None,
        })
    }
}

/// A connection.
#[derive(Debug)]
pub struct Socket {
    stream: Stream,
    limit: Option<Limit>,
}

#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// What the other side may still do.
#[derive(Debug)]
struct Limit {
    within: Duration,
    until: Instant,
    bytes_max: u64,
    bytes_left: u64,
}

/// Hands the connection over to who sets limits of their own.
impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> Self {
        match socket.stream {
            Stream::Unix(stream) => stream.into(),
            Stream::Tcp(stream) => stream.into(),
        }
    }
}

impl Socket {
    /// Limits all that follows: it ends within this time, and the other side says at most so many
    /// bytes.
    pub fn limit(&mut self, within: Duration, bytes_max: u64) {
        self.limit = Some(Limit {
            within,
            until: Instant::now() + within,
            bytes_max,
            bytes_left: bytes_max,
        });
    }

    /// Limits how long one call waits, and nothing else: a load takes as long as it takes.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn wait_at_most(&mut self, silence_max: Duration) -> io::Result<()> {
        self.limit = None;
        self.stream.wait_at_most(silence_max)
    }

    /// Returns what ends the connection from another thread.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn stopper(&self) -> Result<impl FnOnce() + Send + 'static, Error> {
        let stream = match &self.stream {
            Stream::Unix(stream) => stream.try_clone().map(Stream::Unix),
            Stream::Tcp(stream) => stream.try_clone().map(Stream::Tcp),
        };
        let stream = stream.map_err(Error::of("duplicating a connection"))?;
        Ok(move || {
            // A connection that has ended need not be ended.
            let _ = match &stream {
                Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
                Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            };
        })
    }

    /// Calls `call` on the stream within the limit, if there is one.
    fn within_limit(
        &mut self,
        call: impl FnOnce(&mut Stream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let Some(limit) = &self.limit else {
            return call(&mut self.stream);
        };
        let within = limit.within;
        let left = limit.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(silent(within));
        }
        self.stream.wait_at_most(left)?;
        call(&mut self.stream).map_err(|cause| match cause.kind() {
            // What SO_RCVTIMEO and SO_SNDTIMEO end with (socket(7)).
            io::ErrorKind::WouldBlock => silent(within),
            _ => cause,
        })
    }
}

/// The error of a server that is silent, or slow without an end.
fn silent(within: Duration) -> io::Error {
    let seconds = within.as_secs_f64();
    let message = format!("the server did not answer within {seconds} s: is it stopped or stuck?");
    io::Error::new(io::ErrorKind::TimedOut, message)
}

impl Stream {
    fn wait_at_most(&self, silence_max: Duration) -> io::Result<()> {
        let limit = Some(silence_max);
        match self {
            Stream::Unix(stream) => stream
                .set_read_timeout(limit)
                .and_then(|()| stream.set_write_timeout(limit)),
            Stream::Tcp(stream) => stream
                .set_read_timeout(limit)
                .and_then(|()| stream.set_write_timeout(limit)),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.within_limit(|stream| match stream {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        })?;
        if let Some(limit) = &mut self.limit {
            let left = limit.bytes_left.checked_sub(count as u64);
            limit.bytes_left = left.ok_or_else(|| {
                io::Error::other(format!("the answer exceeds {} bytes", limit.bytes_max))
            })?;
        }
        Ok(count)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.within_limit(|stream| match stream {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Reads all that a server says within a limit; the server is `talk`.
    fn read_all(
        (within, bytes_max): (Duration, u64),
        talk: impl FnOnce(UnixStream) + Send + 'static,
    ) -> io::Result<usize> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || talk(listener.accept().unwrap().0));
        let held = Address::Socket(path).hold().unwrap();
        let mut socket = held.connect(Duration::from_secs(20)).unwrap();
        socket.limit(within, bytes_max);
        let read = socket.read_to_end(&mut Vec::new());
        drop(socket);
        server.join().unwrap();
        read
    }

    /// Writes one byte after the other until the reader has gone.
    fn babble(mut stream: UnixStream) {
        while stream.write_all(b"x").is_ok() {}
    }

    #[test]
    fn a_server_that_says_nothing_is_given_up() {
        let wait = |mut stream: UnixStream| {
            // Ends when the reader has gone.
            let _ = stream.read(&mut [0]);
        };
        let error = read_all((Duration::from_millis(30), 100), wait).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let text = error.to_string();
        assert!(text.contains("did not answer within 0.03 s"), "{text}");
    }

    #[test]
    fn a_server_that_never_ends_is_given_up() {
        let error = read_all((Duration::from_millis(30), u64::MAX), babble).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let error = read_all((Duration::from_secs(600), 100), babble).unwrap_err();
        assert_eq!(error.to_string(), "the answer exceeds 100 bytes");
    }

    #[test]
    fn what_a_server_says_within_the_limit_is_read() {
        let say = |mut stream: UnixStream| stream.write_all(&[7; 100]).unwrap();
        assert_eq!(read_all((Duration::from_secs(600), 100), say).unwrap(), 100);
    }
}
