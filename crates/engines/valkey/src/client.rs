//! A connection to a server through its socket. A client library would add a dozen crates for what
//! the load needs, four commands, and a copy of each value.

use std::io::{BufReader, Write};
use std::path::Path;
use std::time::Duration;

use observed::{Address, HeldAddress, Socket};
use server::Error;

use crate::reply::{self, Reply};

/// A server that says nothing for so long has failed; emulated machines are slow.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// A server of others that takes longer is not asked further: one command may keep it busy. It has
/// a few kilobytes to say.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
const ANSWERS_BYTES_MAX: u64 = 1 << 20;
/// Commands that the load sends before it reads their replies. A server keeps the replies that its
/// client has not read in the same private memory as its values: of 64, at most 256 KiB a session.
pub(crate) const PIPELINE: usize = 64;

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<Socket>,
    requests: Vec<u8>,
    said: Vec<u8>,
}

impl Client {
    /// Connects to the socket of a server of numalab's.
    ///
    /// # Errors
    /// When no server listens.
    pub(crate) fn connect(socket: &Path) -> Result<Self, Error> {
        let address = Address::Socket(socket.to_owned()).hold()?;
        let mut socket = address.connect(SILENCE_MAX)?;
        let limited = socket.wait_at_most(SILENCE_MAX);
        limited.map_err(Error::io("limiting how long the client waits"))?;
        Ok(Self::of(socket))
    }

    /// Connects to any server, which has some seconds and bytes for all of its answers.
    ///
    /// # Errors
    /// When no server listens.
    pub(crate) fn connect_to(address: &HeldAddress) -> Result<Self, Error> {
        let mut socket = address.connect(ANSWERS_WITHIN)?;
        socket.limit(ANSWERS_WITHIN, ANSWERS_BYTES_MAX);
        Ok(Self::of(socket))
    }

    /// Gives the server as much time and as many bytes again for the answers that follow.
    pub(crate) fn renew_limit(&mut self) {
        let socket = self.stream.get_mut();
        socket.limit(ANSWERS_WITHIN, ANSWERS_BYTES_MAX);
    }

    fn of(socket: Socket) -> Self {
        Client {
            stream: BufReader::with_capacity(64 << 10, socket),
            requests: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Returns what ends its calls from another thread.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub(crate) fn stop(&self) -> Result<impl FnOnce() + Send + 'static, Error> {
        Ok(self.stream.get_ref().stopper()?)
    }

    /// Adds a command to those of the next [`Client::send`].
    pub(crate) fn add(&mut self, words: &[&[u8]]) {
        let requests = &mut self.requests;
        // Writing to a vector cannot fail.
        let _ = write!(requests, "*{}\r\n", words.len());
        for word in words {
            let _ = write!(requests, "${}\r\n", word.len());
            requests.extend_from_slice(word);
            requests.extend_from_slice(b"\r\n");
        }
    }

    /// Sends the commands that were added.
    ///
    /// # Errors
    /// When the connection has ended.
    pub(crate) fn send(&mut self) -> Result<(), Error> {
        let sent = self.stream.get_mut().write_all(&self.requests);
        self.requests.clear();
        sent.map_err(Error::io("sending commands"))
    }

    /// Reads the reply to the next command; a value stays until the next call.
    ///
    /// # Errors
    /// When the connection ends, or the server refuses the command.
    pub(crate) fn reply(&mut self) -> Result<Option<&[u8]>, Error> {
        let reply = reply::read(&mut self.stream, &mut self.said);
        match reply.map_err(Error::io("reading a reply"))? {
            Reply::Line | Reply::Value => Ok(Some(&self.said)),
            Reply::Nothing => Ok(None),
            Reply::List(_) => Err(Error::failed("the server answers with a list")),
            Reply::Refused => {
                let said = observed::one_line(&self.said);
                Err(Error::failed(format!(
                    "the server refused a command: {said}"
                )))
            }
        }
    }

    /// Sends one command and returns what the server says.
    ///
    /// # Errors
    /// As [`Client::reply`].
    pub(crate) fn ask(&mut self, words: &[&[u8]]) -> Result<String, Error> {
        self.add(words);
        self.send()?;
        let said = self.reply()?.unwrap_or_default();
        Ok(String::from_utf8_lossy(said).into_owned())
    }

    /// Sends one command and returns the list that the server says.
    ///
    /// # Errors
    /// As [`Client::reply`]; also when it says something else.
    pub(crate) fn ask_all(&mut self, words: &[&[u8]]) -> Result<Vec<String>, Error> {
        self.add(words);
        self.send()?;
        let reply = reply::read(&mut self.stream, &mut self.said);
        let length = match reply.map_err(Error::io("reading a reply"))? {
            Reply::List(length) => length,
            _ => {
                let said = observed::one_line(&self.said);
                return Err(Error::failed(format!("expected a list, found {said}")));
            }
        };
        let word = |_| {
            let said = self.reply()?.unwrap_or_default();
            Ok(String::from_utf8_lossy(said).into_owned())
        };
        (0..length).map(word).collect()
    }
}
