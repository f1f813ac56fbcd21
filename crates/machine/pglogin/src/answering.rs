//! Whether a server answers at all. The client library waits for the answer to its first message
//! without a limit, and the queue of a stopped server still accepts connections.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use observed::Address;
use tokio_postgres::Config;

use crate::Error;
use crate::places::{addresses, socket};

/// A server that needs longer for its first byte is stopped, or too busy to be asked.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// `SSLRequest`: a length of 8 bytes and the code 80877103, which every version answers with one
/// byte (PostgreSQL manual, "Message Formats"). A client that then leaves is not logged
/// (backend_startup.c, `ProcessStartupPacket`).
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Checks that the server with this socket directory answers.
///
/// # Errors
/// When it accepts a connection and is silent. All else is for the client library to tell.
pub fn require_answer(directory: &Path, port: u16) -> Result<(), Error> {
    answer_within(Address::Socket(socket(directory, port)), ANSWERS_WITHIN).map(|_| ())
}

/// Checks that the first server of a URL that can be connected to answers, within the URL's
/// `connect_timeout` if it has one.
///
/// # Errors
/// As for [`require_answer`].
pub(crate) fn require_answer_of(config: &Config) -> Result<(), Error> {
    let within = config.get_connect_timeout().copied();
    let within = within.unwrap_or(ANSWERS_WITHIN);
    for address in addresses(config) {
        if answer_within(address, within)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns whether a server could be connected to, and answered.
fn answer_within(address: Address, within: Duration) -> Result<bool, Error> {
    let what = format!("connecting to the server at {address}");
    let asked = || {
        let mut socket = address.hold()?.connect(within)?;
        socket.limit(within, 1);
        let asked = socket.write_all(&SSL_REQUEST);
        let answered = asked.and_then(|()| socket.read_exact(&mut [0]));
        answered.map_err(Error::io(""))
    };
    match asked() {
        Ok(()) => Ok(true),
        Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::TimedOut => {
            Err(Error::Io { what, cause })
        }
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_silent_server_is_told_from_one_that_answers_and_from_none() {
        let folder = tempfile::tempdir().unwrap();
        let address = || Address::Socket(folder.path().join(".s.PGSQL.7"));
        let short = Duration::from_millis(20);
        assert!(!answer_within(address(), short).unwrap(), "nobody listens");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.7")).unwrap();
        let error = answer_within(address(), short).unwrap_err().to_string();
        assert!(error.contains("did not answer within 0.02 s"), "{error}");
        let server = std::thread::spawn(move || {
            let mut question = [0; 8];
            // The client that gave up is the first in the queue.
            for _ in 0..2 {
                let (mut client, _) = listener.accept().unwrap();
                client.read_exact(&mut question).unwrap();
                let _ = client.write_all(b"N");
            }
            question
        });
        require_answer(folder.path(), 7).unwrap();
        assert_eq!(server.join().unwrap(), SSL_REQUEST);
        let url = format!("host={} port=7", folder.path().display());
        require_answer_of(&url.parse().unwrap()).unwrap();
    }
}
