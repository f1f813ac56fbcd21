//! One connection: its greeting, statements as text, and prepared ones with whole numbers.

use model::counted;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use observed::{Address, HeldAddress, Socket};
use sha1::{Digest, Sha1};

use super::packet::{self, PAYLOAD_BYTES_MAX, Payload};
use server::Error;

use crate::error;

/// What this client can do: long flags, protocol 4.1, transactions, authentication by plugins
/// (`CLIENT_LONG_FLAG`, `CLIENT_PROTOCOL_41`, `CLIENT_TRANSACTIONS`, `CLIENT_SECURE_CONNECTION`,
/// `CLIENT_PLUGIN_AUTH`).
const CAPABILITIES: u32 = 0x4 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
/// utf8mb4_general_ci.
const CHARACTER_SET: u8 = 45;
/// The most ways to authenticate that a server may ask for, one after the other.
const WAYS_MAX: usize = 4;
const PLUGIN: &[u8] = b"mysql_native_password\0";
/// The random bytes with which a server asks for a password.
const SCRAMBLE_BYTES: usize = 20;
/// Commands.
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
/// First bytes of answers.
const OK: u8 = 0x00;
const END: u8 = 0xfe;
const FAILED: u8 = 0xff;
/// The type of a number of eight bytes (`MYSQL_TYPE_LONGLONG`), signed.
const EIGHT_BYTES: [u8; 2] = [0x08, 0x00];

/// Timeout for a server of numalab's to accept a connection; emulated machines are slow.
const CONNECT_WITHIN: Duration = Duration::from_secs(120);
/// Timeout for a server of others to accept a connection and to let the user in, and the most that
/// it says until then.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
const GREETING_BYTES_MAX: u64 = 64 << 10;
/// The most rows that are kept: as many as files of tablespaces are looked at.
const ROWS_MAX: usize = 1 << 20;

/// A row of an answer in text; `None` is NULL.
pub(crate) type Row = Vec<Option<String>>;

/// A prepared statement, all of whose parameters are whole numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statement {
    id: u32,
}

/// An open connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<Socket>,
}

impl Client {
    /// Connects to the socket of a server of numalab's: with `skip-grant-tables` it admits any
    /// name. What it is asked takes as long as it takes.
    ///
    /// # Errors
    /// When nobody listens, or the server rejects the connection.
    pub(crate) fn connect(socket: &Path) -> Result<Self, Error> {
        let socket = Address::Socket(socket.to_owned()).hold()?;
        Self::of(socket.connect(CONNECT_WITHIN)?, "numalab", None)
    }

    /// Connects to a server of others, as a user with this password, or whom it knows by the
    /// socket. [`Client::limit`] says what may follow.
    ///
    /// # Errors
    /// As [`Client::connect`], and when the server is silent.
    pub(crate) fn connect_as(
        address: &HeldAddress,
        user: &str,
        password: Option<&str>,
    ) -> Result<Self, Error> {
        let mut socket = address.connect(ANSWERS_WITHIN)?;
        socket.limit(ANSWERS_WITHIN, GREETING_BYTES_MAX);
        Self::of(socket, user, password)
    }

    fn of(socket: Socket, user: &str, password: Option<&str>) -> Result<Self, Error> {
        const WHAT: &str = "connecting to the server";
        let mut client = Client {
            stream: BufReader::new(socket),
        };
        let (number, greeting) = client.answer(WHAT)?;
        if greeting.first() != Some(&10) {
            return Err(unexpected(WHAT, "a greeting of protocol 10", &greeting));
        }
        let password = password.unwrap_or_default();
        let proof = scramble(&greeting).map(|scramble| proof(password, &scramble));
        let response = response(user, &proof.unwrap_or_default());
        client.send(number.wrapping_add(1), &response, WHAT)?;
        let (mut number, mut answer) = client.answer(WHAT)?;
        // The server asks for other ways to authenticate: without a password all are alike.
        for _ in 0..WAYS_MAX {
            if answer.first() != Some(&END) {
                break;
            }
            let proof = answer[1..]
                .strip_prefix(PLUGIN)
                .and_then(|it| it.first_chunk());
            let proof = proof.map(|scramble| self::proof(password, scramble));
            client.send(number.wrapping_add(1), &proof.unwrap_or_default(), WHAT)?;
            (number, answer) = client.answer(WHAT)?;
        }
        match answer.first() {
            Some(&OK) => Ok(client),
            _ => Err(unexpected(WHAT, "to be let in", &answer)),
        }
    }

    /// Limits all that follows: see [`Socket::limit`].
    pub(crate) fn limit(&mut self, within: Duration, bytes_max: u64) {
        self.stream.get_mut().limit(within, bytes_max);
    }

    /// Returns what ends the connection from another thread.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(crate) fn stopper(&self) -> Result<impl FnOnce() + Send + 'static, Error> {
        Ok(self.stream.get_ref().stopper()?)
    }

    /// Executes a statement; returns its rows, none if it has no result.
    ///
    /// # Errors
    /// When the server refuses it, or sends too many rows; `what` names the operation.
    pub(crate) fn query(&mut self, sql: &str, what: &str) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        self.each_row(sql, what, |row| {
            if rows.len() == ROWS_MAX {
                let expected = format!("at most {ROWS_MAX} rows");
                return Err(Error::answer(what, expected, "more"));
            }
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Executes a statement and calls `take` for each row of its result.
    ///
    /// # Errors
    /// When the server refuses it, and those of `take`.
    pub(crate) fn each_row(
        &mut self,
        sql: &str,
        what: &str,
        mut take: impl FnMut(Row) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.command(QUERY, sql.as_bytes(), what)?;
        let (_, first) = self.answer(what)?;
        if first.first() == Some(&OK) {
            return Ok(());
        }
        let columns = self.columns(&first, what)?;
        while let Some(row) = self.row(what)? {
            let mut values = Payload(&row);
            let row: Option<Row> = (0..columns).map(|_| values.text()).collect();
            take(row.ok_or_else(|| unexpected(what, "a row of text", values.0))?)?;
        }
        Ok(())
    }

    /// Executes a statement with one value; returns that.
    ///
    /// # Errors
    /// When the server refuses it, or it has another result.
    pub(crate) fn value(&mut self, sql: &str, what: &str) -> Result<Option<String>, Error> {
        let mut rows = self.query(sql, what)?;
        match (rows.pop(), rows.is_empty()) {
            (Some(mut row), true) if row.len() == 1 => Ok(row.remove(0)),
            _ => Err(Error::answer(what, "one value", "another number of them")),
        }
    }

    /// Prepares a statement whose parameters are whole numbers.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(crate) fn prepare(&mut self, sql: &str, what: &str) -> Result<Statement, Error> {
        self.command(PREPARE, sql.as_bytes(), what)?;
        let (_, answer) = self.answer(what)?;
        let (id, columns, parameters) = parse_prepared(&answer)
            .ok_or_else(|| unexpected(what, "a prepared statement", &answer))?;
        for definitions in [parameters, columns] {
            self.definitions(u64::from(definitions), what)?;
        }
        Ok(Statement { id })
    }

    /// Executes a prepared statement whose result is one row of `COUNT` whole numbers.
    ///
    /// # Errors
    /// When the server refuses it, or it has another result.
    pub(crate) fn execute<const COUNT: usize>(
        &mut self,
        statement: Statement,
        parameters: [i64; 2],
        what: &str,
    ) -> Result<[i64; COUNT], Error> {
        self.command(EXECUTE, &execution(statement, parameters), what)?;
        let (_, first) = self.answer(what)?;
        self.columns(&first, what)?;
        let (mut found, mut rows) = ([0; COUNT], 0);
        while let Some(row) = self.row(what)? {
            found = parse_numbers(&row)
                .ok_or_else(|| unexpected(what, "a row of whole numbers", &row))?;
            rows += 1;
        }
        match rows {
            1 => Ok(found),
            _ => Err(Error::answer(what, "one row", counted(rows, "row"))),
        }
    }

    fn command(&mut self, command: u8, payload: &[u8], what: &str) -> Result<(), Error> {
        self.send(0, &[&[command], payload].concat(), what)
    }

    fn send(&mut self, number: u8, payload: &[u8], what: &str) -> Result<(), Error> {
        let sent = packet::write(self.stream.get_mut(), number, payload);
        sent.map_err(Error::io(what))
    }

    /// Reads a packet that is not an error.
    fn answer(&mut self, what: &str) -> Result<(u8, Vec<u8>), Error> {
        let (number, payload) = packet::read(&mut self.stream).map_err(Error::io(what))?;
        match payload.first() {
            Some(&FAILED) => Err(refused(what, &payload)),
            Some(_) => Ok((number, payload)),
            None => Err(unexpected(what, "an answer", &payload)),
        }
    }

    /// Reads the definitions of the columns of a result; returns how many there are.
    fn columns(&mut self, first: &[u8], what: &str) -> Result<u64, Error> {
        let columns = Payload(first)
            .columns()
            .filter(|columns| *columns > 0)
            .ok_or_else(|| unexpected(what, "a result", first))?;
        self.definitions(columns, what)?;
        Ok(columns)
    }

    /// Skips definitions of columns or parameters, and their end.
    fn definitions(&mut self, count: u64, what: &str) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        for _ in 0..count {
            self.answer(what)?;
        }
        match self.row(what)? {
            None => Ok(()),
            Some(other) => Err(unexpected(what, "the end of the columns", &other)),
        }
    }

    /// Reads a row; `None` at the end of the rows.
    fn row(&mut self, what: &str) -> Result<Option<Vec<u8>>, Error> {
        let (_, row) = self.answer(what)?;
        // A row may begin with the same byte, as the length of a long text.
        let is_end = row.first() == Some(&END) && row.len() < 9;
        Ok((!is_end).then_some(row))
    }
}

/// Returns the random bytes of a greeting: protocol, version up to a zero, thread (4), first part
/// (8), zero, capabilities (2), character set, status (2), capabilities (2), length, reserved (10),
/// second part (12).
fn scramble(greeting: &[u8]) -> Option<[u8; SCRAMBLE_BYTES]> {
    let version = greeting.iter().skip(1).position(|byte| *byte == 0)?;
    let mut rest = Payload(greeting.get(version + 2..)?);
    rest.bytes(4)?;
    let first = rest.bytes(8)?;
    rest.bytes(1 + 2 + 1 + 2 + 2 + 1 + 10)?;
    [first, rest.bytes(12)?].concat().try_into().ok()
}

/// Returns what shows that a password is known (plugin mysql_native_password); nothing without one:
/// `SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password)))`.
fn proof(password: &str, scramble: &[u8; SCRAMBLE_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let digest = Sha1::digest(password);
    let mut mixed = Sha1::new();
    mixed.update(scramble);
    mixed.update(Sha1::digest(digest));
    let pairs = digest.iter().zip(mixed.finalize());
    pairs.map(|(one, other)| one ^ other).collect()
}

/// Returns the answer to a greeting.
fn response(user: &str, proof: &[u8]) -> Vec<u8> {
    let most = PAYLOAD_BYTES_MAX as u32;
    let mut response = [CAPABILITIES.to_le_bytes(), most.to_le_bytes()].concat();
    response.push(CHARACTER_SET);
    response.extend([0; 23]);
    response.extend(user.bytes().filter(|byte| *byte != 0));
    response.push(0);
    response.push(proof.len() as u8);
    response.extend(proof);
    response.extend(PLUGIN);
    response
}

/// Returns the payload that executes a statement: id, no cursor, one iteration, no NULL, types, and
/// values.
fn execution(statement: Statement, parameters: [i64; 2]) -> Vec<u8> {
    let mut payload = statement.id.to_le_bytes().to_vec();
    payload.push(0);
    payload.extend(1_u32.to_le_bytes());
    payload.extend([0, 1]);
    payload.extend(EIGHT_BYTES);
    payload.extend(EIGHT_BYTES);
    for value in parameters {
        payload.extend(value.to_le_bytes());
    }
    payload
}

/// Returns the id of a prepared statement, and the numbers of its columns and parameters.
fn parse_prepared(answer: &[u8]) -> Option<(u32, u16, u16)> {
    let mut payload = Payload(answer);
    let is_ok = payload.byte()? == OK;
    let parsed = (payload.four()?, payload.two()?, payload.two()?);
    is_ok.then_some(parsed)
}

/// Returns the values of a binary row, none of which is NULL: a zero, a bit for each column after
/// two unused ones, the values.
fn parse_numbers<const COUNT: usize>(row: &[u8]) -> Option<[i64; COUNT]> {
    let mut payload = Payload(row);
    let is_row = payload.byte()? == OK;
    let nulls = payload.bytes((COUNT + 2).div_ceil(8))?;
    let mut values = [0; COUNT];
    for value in &mut values {
        *value = payload.eight()?;
    }
    let is_whole = is_row && nulls.iter().all(|byte| *byte == 0) && payload.0.is_empty();
    is_whole.then_some(values)
}

/// Returns the error of a packet that reports one: 0xff, a number, `#` and five characters, text.
fn refused(what: &str, packet: &[u8]) -> Error {
    let mut payload = Payload(packet);
    payload.byte();
    let code = payload.two().unwrap_or(0);
    let said = match payload.0 {
        [b'#', _, _, _, _, _, said @ ..] => said,
        said => said,
    };
    error::refused(what, code, &plain(said))
}

fn unexpected(what: &str, expected: &str, packet: &[u8]) -> Error {
    const BYTES_MAX: usize = 40;
    let start = &packet[..packet.len().min(BYTES_MAX)];
    Error::answer(what, expected, format!("{:?}", plain(start)))
}

/// Returns a text of the server as one line without control characters.
fn plain(bytes: &[u8]) -> String {
    let text = observed::one_line(bytes);
    text.replace(|character: char| character.is_control(), "?")
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    use proptest::prelude::*;

    use super::{
        Address, Client, Duration, Error, packet, parse_numbers, parse_prepared, proof, refused,
        scramble,
    };

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_server() {
        let error = refused(
            "asking",
            b"\xff\x28\x04#42000You have an error\nhere\x1b[1m",
        );
        let text = "asking: You have an error; here?[1m (error 1064)";
        assert_eq!(error.to_string(), text);
        let before = refused("connecting", b"\xff\x10\x04Too many connections");
        let text = "connecting: Too many connections (error 1040)";
        assert_eq!(before.to_string(), text);
        refused("x", b"\xff");
    }

    #[test]
    fn rows_of_numbers_are_read() {
        let row = |bytes: &[u8]| parse_numbers::<2>(bytes);
        let mut bytes = vec![0, 0];
        bytes.extend(7_i64.to_le_bytes());
        bytes.extend((-1_i64).to_le_bytes());
        assert_eq!(row(&bytes), Some([7, -1]));
        assert_eq!(row(&bytes[..17]), None);
        bytes[1] = 4;
        assert_eq!(row(&bytes), None, "NULL");
        let prepared = parse_prepared(b"\x00\x05\x00\x00\x00\x02\x00\x01\x00\x00\x00\x00");
        assert_eq!(prepared, Some((5, 2, 1)));
    }

    /// With the scramble of zeros, the XOR of two digests: computed with Python's hashlib.
    #[test]
    fn a_password_is_proved_without_sending_it() {
        let hex =
            |bytes: Vec<u8>| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        assert!(proof("", &[0; 20]).is_empty());
        assert_eq!(
            hex(proof("secret", &[0; 20])),
            "8e7e678b27f70747e65fb2b381214427b0fced48"
        );
        let mut greeting = b"\x0a5.5.5-10.11\x00\x01\0\0\0abcdefgh\0".to_vec();
        greeting.extend([0; 18]);
        greeting.extend(b"ijklmnopqrst\0mysql_native_password\0");
        assert_eq!(scramble(&greeting), Some(*b"abcdefghijklmnopqrst"));
        assert_eq!(scramble(&greeting[..40]), None);
        assert_eq!(scramble(b"\x0a"), None);
    }

    /// Connects to a server that sends these bytes and no more.
    fn connect_to(said: Vec<u8>) -> Result<Client, Error> {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // The client may have hung up.
            let _ = stream.write_all(&said);
        });
        let connected = Client::connect(&socket);
        server.join().unwrap();
        connected
    }

    #[test]
    fn what_is_no_server_of_this_protocol_is_said() {
        let said = |payload: &[u8]| {
            let mut packet = Vec::new();
            packet::write(&mut packet, 0, payload).unwrap();
            connect_to(packet).unwrap_err().to_string()
        };
        let old = said(b"\x093.20");
        assert!(old.contains("expected a greeting of protocol 10"), "{old}");
        assert!(said(b"\xff\x10\x04Too many").contains("Too many"));
        assert!(said(b"").contains("an answer"));
        assert!(connect_to(Vec::new()).is_err());
    }

    /// Connects to a server that answers a statement with rows without an end, and calls `ask`.
    fn ask_without_end(ask: impl FnOnce(&mut Client)) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let talk = std::thread::spawn(move || {
            let (mut server, _) = listener.accept().unwrap();
            let mut packets = Vec::new();
            for (number, payload) in [(0, &b"\x0a5.5"[..]), (2, b"\0")] {
                packet::write(&mut packets, number, payload).unwrap();
            }
            server.write_all(&packets).unwrap();
            // The answer to the greeting and the statement come meanwhile.
            let mut result = Vec::new();
            for payload in [&b"\x01"[..], b"a column", b"\xfe\0\0\0\0"] {
                packet::write(&mut result, 1, payload).unwrap();
            }
            server.write_all(&result).unwrap();
            let mut rows = Vec::new();
            (0..1000).for_each(|_| packet::write(&mut rows, 1, b"\x01x").unwrap());
            while server.write_all(&rows).is_ok() {}
            let _ = server.read_to_end(&mut Vec::new());
        });
        let held = Address::Socket(socket).hold().unwrap();
        let mut client = Client::connect_as(&held, "me", None).unwrap();
        ask(&mut client);
        drop(client);
        talk.join().unwrap();
    }

    #[test]
    fn rows_without_an_end_are_given_up() {
        ask_without_end(|client| {
            client.limit(Duration::from_secs(600), 1 << 20);
            let error = client.query("SELECT 1", "asking").unwrap_err().to_string();
            assert_eq!(error, "asking: the answer exceeds 1048576 bytes");
        });
        ask_without_end(|client| {
            client.limit(Duration::from_secs(600), u64::MAX);
            let mut rows = 0;
            let enough = client.each_row("SELECT 1", "asking", |_| match rows {
                1000 => Err(Error::answer("asking", "1000 rows", "more")),
                _ => {
                    rows += 1;
                    Ok(())
                }
            });
            assert_eq!((rows, enough.is_err()), (1000, true));
        });
    }

    proptest! {
        #[test]
        fn no_answer_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            parse_prepared(&bytes);
            parse_numbers::<2>(&bytes);
            refused("x", &bytes);
            let _ = connect_to(bytes);
        }
    }
}
