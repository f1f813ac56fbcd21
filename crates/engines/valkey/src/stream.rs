//! The connection below a client: a Unix or a TCP socket.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A socket.
#[derive(Debug)]
pub(crate) enum Stream {
    /// On this machine.
    Unix(UnixStream),
    /// By address.
    Tcp(TcpStream),
}

impl Stream {
    /// Gives up on a server that says nothing for so long.
    pub(crate) fn limit(&self, silence_max: Duration) -> io::Result<()> {
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

    /// The same socket once more.
    pub(crate) fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
        })
    }

    /// Ends the connection, whoever waits for it.
    pub(crate) fn shutdown(&self) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.flush(),
            Stream::Tcp(stream) => stream.flush(),
        }
    }
}
