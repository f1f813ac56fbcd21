//! Replies of a server: RESP version 2, the protocol of Redis and Valkey
//! (<https://valkey.io/topics/protocol/>), as far as this load's commands are answered.

use std::io::{self, BufRead, Read};

/// Longer lines are no reply to our commands.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Longer values are none of ours: `INFO` has a few kilobytes.
const VALUE_BYTES_MAX: usize = 16 << 20;

/// Longer lists are none of ours: a pattern of settings finds a few.
const LIST_MAX: usize = 1 << 10;

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A status or a number, in the buffer.
    Line,
    /// A value, in the buffer.
    Value,
    /// No value under this key.
    Nothing,
    /// A list of so many replies, which follow.
    List(usize),
    /// An error, in the buffer.
    Refused,
}

/// Reads one reply; what it says replaces the content of `buffer`.
///
/// # Errors
/// When the connection ends, or something else than a reply comes.
pub(crate) fn read(stream: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Reply> {
    line(stream, buffer)?;
    let kind = buffer.first().copied();
    match kind {
        Some(b'+' | b':') => {
            buffer.remove(0);
            Ok(Reply::Line)
        }
        Some(b'-') => {
            buffer.remove(0);
            Ok(Reply::Refused)
        }
        Some(b'$') => value(stream, buffer),
        Some(b'*') => list(buffer),
        _ => Err(unexpected("a reply", buffer)),
    }
}

fn value(stream: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Reply> {
    if buffer == b"$-1" {
        return Ok(Reply::Nothing);
    }
    let length = std::str::from_utf8(&buffer[1..]).ok();
    let length: Option<usize> = length.and_then(|text| text.parse().ok());
    let Some(length) = length.filter(|length| *length <= VALUE_BYTES_MAX) else {
        return Err(unexpected("the length of a value", buffer));
    };
    buffer.resize(length + 2, 0);
    stream.read_exact(buffer)?;
    if !buffer.ends_with(b"\r\n") {
        return Err(unexpected("the end of a value", b"something else"));
    }
    buffer.truncate(length);
    Ok(Reply::Value)
}

fn list(buffer: &[u8]) -> io::Result<Reply> {
    let length = std::str::from_utf8(&buffer[1..]).ok();
    let length: Option<usize> = length.and_then(|text| text.parse().ok());
    let length = length.filter(|length| *length <= LIST_MAX);
    length
        .map(Reply::List)
        .ok_or_else(|| unexpected("the length of a list", buffer))
}

/// Reads a line without its end.
fn line(stream: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    stream
        .by_ref()
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', buffer)?;
    if !buffer.ends_with(b"\r\n") {
        return Err(match buffer.is_empty() {
            true => io::ErrorKind::UnexpectedEof.into(),
            false => unexpected("the end of a line", buffer),
        });
    }
    buffer.truncate(buffer.len() - 2);
    Ok(())
}

fn unexpected(expected: &str, found: &[u8]) -> io::Error {
    let start = &found[..found.len().min(60)];
    let found = String::from_utf8_lossy(start);
    io::Error::other(format!("expected {expected}, found {found:?}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &[(Reply, &str)]) {
        let (mut stream, mut buffer) = (bytes, Vec::new());
        for (reply, said) in expected {
            assert_eq!(read(&mut stream, &mut buffer).unwrap(), *reply);
            if *reply != Reply::Nothing {
                assert_eq!(String::from_utf8_lossy(&buffer), *said);
            }
        }
        assert!(read(&mut stream, &mut buffer).is_err());
    }

    #[test]
    fn every_kind_of_reply_is_read_and_the_next_one_after_it() {
        let bytes = b"+OK\r\n:42\r\n$5\r\na\r\nbc\r\n$-1\r\n$0\r\n\r\n-ERR no\r\n*2\r\n";
        let expected = [
            (Reply::Line, "OK"),
            (Reply::Line, "42"),
            (Reply::Value, "a\r\nbc"),
            (Reply::Nothing, ""),
            (Reply::Value, ""),
            (Reply::Refused, "ERR no"),
            (Reply::List(2), "*2"),
        ];
        check(bytes, &expected);
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for bytes in [
            "",
            "+OK",
            "$3\r\nab",
            "$3\r\nabcde",
            "$x\r\n",
            "$-2\r\n",
            "*-1\r\n",
            "*99999\r\n",
            "HTTP/1.1 200\r\n",
        ] {
            check(bytes.as_bytes(), &[]);
        }
        check(format!("${}\r\n", usize::MAX).as_bytes(), &[]);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(prop_oneof![
            Just(b'$'), Just(b'*'), Just(b'-'), Just(b'+'), Just(b'\r'), Just(b'\n'),
            b'0'..=b'9', any::<u8>()
        ], 0..60)) {
            let (mut stream, mut buffer) = (bytes.as_slice(), Vec::new());
            while read(&mut stream, &mut buffer).is_ok() {}
        }
    }
}
