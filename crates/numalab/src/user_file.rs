//! Files that the user names: read whole, up to a limit, whatever their kind.

use std::fs::File;
use std::io::{self, Read};

/// Reads the bytes of a file. /dev/zero is an error and does not exhaust memory.
///
/// # Errors
/// When it cannot be read, or has more than `bytes_max` bytes.
pub(crate) fn read(path: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let mib = bytes_max >> 20;
        return Err(io::Error::other(format!("it has more than {mib} MiB")));
    }
    Ok(bytes)
}
