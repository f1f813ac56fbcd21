//! Files that the person who runs numalab names. They may be pipes, such as `<(numactl -H)`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a file for reading, whatever it is; a directory is refused as soon as it is read.
///
/// # Errors
/// When there is none, or it may not be read.
pub fn open_named(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Reads a whole file. `/dev/zero` is an error and does not exhaust memory.
///
/// # Errors
/// When it cannot be read, or has more than `bytes_max` bytes.
pub fn read_named(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_named(path)?
        .take(bytes_max + 1)
        .read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(io::Error::other(too_large(bytes_max))),
        false => Ok(bytes),
    }
}

fn too_large(bytes_max: u64) -> String {
    match bytes_max >> 20 {
        0 => format!("the file is larger than {bytes_max} bytes"),
        mib => format!("the file is larger than {mib} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_given_up() {
        let said = |bytes_max| {
            read_named(Path::new("/dev/zero"), bytes_max)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(said(1 << 20), "the file is larger than 1 MiB");
        assert_eq!(said(4096), "the file is larger than 4096 bytes");
        assert!(read_named(Path::new("/"), 4096).is_err());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, [7; 4096]).unwrap();
        assert_eq!(read_named(&file, 4096).unwrap().len(), 4096);
    }
}
