//! Archives of other programs: tar, plain or compressed, known by their first bytes.

use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use super::bundle::{Kept, kept};
use crate::capture::each_file;

/// The first bytes of a tar archive end with these (POSIX ustar, and GNU).
const TAR_MAGIC: &[u8] = b"ustar";
const TAR_MAGIC_AT: usize = 257;

/// Whether these first bytes are of an archive.
pub(super) fn is_archive(start: &[u8]) -> bool {
    Compression::of(start).is_some() || is_tar(start)
}

fn is_tar(start: &[u8]) -> bool {
    start
        .get(TAR_MAGIC_AT..)
        .is_some_and(|rest| rest.starts_with(TAR_MAGIC))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Zstd,
    Xz,
    Gzip,
    Bzip2,
}

impl Compression {
    /// By its magic number.
    fn of(start: &[u8]) -> Option<Self> {
        const MAGIC: [(&[u8], Compression); 4] = [
            (&[0x28, 0xb5, 0x2f, 0xfd], Compression::Zstd),
            (&[0xfd, b'7', b'z', b'X', b'Z', 0], Compression::Xz),
            (&[0x1f, 0x8b], Compression::Gzip),
            (b"BZh", Compression::Bzip2),
        ];
        let found = MAGIC.iter().find(|(magic, _)| start.starts_with(magic));
        found.map(|it| it.1)
    }
}

/// Hands over every file of an archive that is read: its path, what it is, and its bytes.
pub(super) fn each_kept(
    archive: impl BufRead + 'static,
    start: &[u8],
    mut take: impl FnMut(PathBuf, Kept, &mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    let plain: Box<dyn Read> = match Compression::of(start) {
        None => Box::new(archive),
        Some(Compression::Zstd) => Box::new(zstd::Decoder::with_buffer(archive)?),
        Some(Compression::Xz) => Box::new(lzma_rust2::XzReader::new(archive, true)),
        Some(Compression::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(archive)),
        Some(Compression::Bzip2) => Box::new(bzip2::bufread::MultiBzDecoder::new(archive)),
    };
    let read = each_file(plain, |entry, path| {
        let is_file = entry.header().entry_type() == tar::EntryType::Regular;
        match kept(&path).filter(|_| is_file) {
            Some(kept) => Ok(take(path, kept, entry)?),
            None => Ok(()),
        }
    });
    read.map_err(|error| io::Error::other(error.to_string()))
}
