//! Files that the user names: read whole, up to a bound, wherever they come from.

use std::fs::File;
use std::io::{self, Read};

/// The bytes of a file. Whoever names /dev/zero is told, not starved.
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
