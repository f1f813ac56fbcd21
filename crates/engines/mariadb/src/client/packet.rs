//! Packets of the protocol, and the values in them
//! (<https://mariadb.com/kb/en/clientserver-protocol/>).

use std::io::{self, Read, Write};

/// Longest payload of one packet; a longer message takes several.
pub(super) const PAYLOAD_BYTES_MAX: usize = (1 << 24) - 1;

/// Reads one packet: its length (3 bytes, low first), its number, its payload.
///
/// # Errors
/// When the connection ends, or the message goes on in another packet.
pub(super) fn read(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    from.read_exact(&mut header)?;
    let [low, middle, high, number] = header;
    let bytes = u32::from_le_bytes([low, middle, high, 0]) as usize;
    if bytes == PAYLOAD_BYTES_MAX {
        return Err(io::Error::other("a message of 16 MiB or more"));
    }
    let mut payload = vec![0; bytes];
    from.read_exact(&mut payload)?;
    Ok((number, payload))
}

/// Writes one packet.
///
/// # Errors
/// When the connection ends, or the payload is too long.
pub(super) fn write(to: &mut impl Write, number: u8, payload: &[u8]) -> io::Result<()> {
    if payload.len() >= PAYLOAD_BYTES_MAX {
        return Err(io::Error::other("a statement of 16 MiB or more"));
    }
    let [low, middle, high, _] = (payload.len() as u32).to_le_bytes();
    // One system call for one packet.
    let packet = [&[low, middle, high, number], payload].concat();
    to.write_all(&packet)
}

/// The rest of a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a>(pub &'a [u8]);

impl<'a> Payload<'a> {
    /// Takes the next `count` bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        self.bytes(COUNT)?.try_into().ok()
    }

    /// Takes a byte.
    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Takes a number of two bytes.
    pub(super) fn two(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Takes a number of four bytes.
    pub(super) fn four(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Takes a number of eight bytes.
    pub(super) fn eight(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// Takes a number whose first byte says its length (`int<lenenc>`).
    fn length(&mut self) -> Option<u64> {
        match self.byte()? {
            0xfc => self.two().map(u64::from),
            0xfd => self
                .array::<3>()
                .map(|[a, b, c]| u64::from(u32::from_le_bytes([a, b, c, 0]))),
            0xfe => self.eight().map(i64::cast_unsigned),
            short @ ..=0xfa => Some(u64::from(short)),
            _ => None,
        }
    }

    /// Takes a text with its length; the inner value is `None` for NULL.
    pub(super) fn text(&mut self) -> Option<Option<String>> {
        if self.0.first() == Some(&0xfb) {
            self.byte();
            return Some(None);
        }
        let bytes = usize::try_from(self.length()?).ok()?;
        let text = self.bytes(bytes)?;
        Some(Some(String::from_utf8_lossy(text).into_owned()))
    }

    /// Takes the number of columns with which a result begins.
    pub(super) fn columns(&mut self) -> Option<u64> {
        self.length()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Payload, read, write};

    #[test]
    fn a_packet_that_was_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, 3, b"select 1").unwrap();
        assert_eq!(bytes[..4], [8, 0, 0, 3]);
        assert_eq!(read(&mut &bytes[..]).unwrap(), (3, b"select 1".to_vec()));
        assert!(read(&mut &bytes[..5]).is_err());
        assert!(read(&mut &[255, 255, 255, 0][..]).is_err());
        assert!(write(&mut bytes, 0, &vec![0; 1 << 24]).is_err());
    }

    #[test]
    fn texts_have_their_length_before_them() {
        let check = |bytes: &[u8], expected: Option<Option<&str>>| {
            let expected = expected.map(|it| it.map(str::to_owned));
            assert_eq!(Payload(bytes).text(), expected, "{bytes:?}");
        };
        check(b"\x03abc", Some(Some("abc")));
        check(b"\xfb", Some(None));
        check(b"\xfc\x02\x00ab", Some(Some("ab")));
        check(b"\xfd\x02\x00\x00ab", Some(Some("ab")));
        check(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffab", None);
        check(b"\x04abc", None);
        check(b"\xff", None);
        check(b"", None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = read(&mut &bytes[..]);
            let mut payload = Payload(&bytes);
            while payload.text().is_some() {}
            payload.columns();
        }
    }
}
