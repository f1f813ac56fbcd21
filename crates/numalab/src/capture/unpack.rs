//! Unpacks a capture from an untrusted source: only files and directories, only below the
//! destination, and no more than a capture can have.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of bytes to unpack: maps and numa_maps of thousands of processes with thousands
/// of mappings each.
const BYTES_MAX: u64 = 8 << 30;
/// Maximum number of files.
const FILES_MAX: usize = 1 << 20;
/// Maximum length of a path in bytes (`PATH_MAX`); paths are read into memory.
const PATH_BYTES_MAX: u64 = 4096;
/// Maximum number of components of a path; those of /sys/devices have about twenty.
const DEPTH_MAX: usize = 64;

/// Why an archive cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The archive cannot be read because it is truncated, damaged or not an archive; or its files
    /// cannot be written.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// The archive has an entry that captures do not have.
    #[error("{path:?} in it is {found}; a capture has only files below its own folder")]
    Entry {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// The archive is larger than captures are.
    #[error("it has more than {BYTES_MAX} bytes or {FILES_MAX} files")]
    TooLarge,
}

/// Unpacks the archive into a directory, which must be empty and writable by nobody else.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result<(), Error> {
    let decompressed = zstd::Decoder::new(File::open(archive)?)?;
    let mut archive = tar::Archive::new(decompressed.take(BYTES_MAX));
    let mut files = 0;
    let mut read = 0_u64;
    let mut long_path = None;
    // Raw, because otherwise `tar` reads a long path into memory, however long it is.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        files += 1;
        read = read.saturating_add(entry.size());
        if files > FILES_MAX || read >= BYTES_MAX {
            return Err(Error::TooLarge);
        }
        if entry.header().entry_type() == tar::EntryType::GNULongName {
            long_path = Some(read_path(&mut entry)?);
            continue;
        }
        let path = match long_path.take() {
            Some(path) => path,
            None => entry.path()?.into_owned(),
        };
        unpack_entry(&mut entry, path, into)?;
    }
    Ok(())
}

/// Reads the path of the next entry.
fn read_path(entry: &mut tar::Entry<impl Read>) -> Result<PathBuf, Error> {
    if entry.size() > PATH_BYTES_MAX {
        let (path, found) = (entry.path()?.into_owned(), "a path that is too long");
        return Err(Error::Entry { path, found });
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes)?;
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok(OsString::from_vec(bytes).into())
}

fn unpack_entry(
    entry: &mut tar::Entry<impl Read>,
    path: PathBuf,
    into: &Path,
) -> Result<(), Error> {
    let is_plain = |part: Component| matches!(part, Component::Normal(_));
    let place = into.join(&path);
    let found = match entry.header().entry_type() {
        _ if !path.components().all(is_plain) => "outside of it",
        _ if path.components().count() > DEPTH_MAX => "below too many folders",
        tar::EntryType::Directory => return Ok(fs::create_dir_all(&place)?),
        tar::EntryType::Regular => {
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder)?;
            }
            io::copy(entry, &mut File::create_new(&place)?)?;
            return Ok(());
        }
        _ => "neither a file nor a folder",
    };
    Err(Error::Entry { path, found })
}

#[cfg(test)]
mod tests {
    use residency::capture::{Content, Entry};

    use super::super::{Manifest, Packer};
    use super::unpack;

    #[test]
    fn what_was_packed_is_unpacked_long_paths_included() {
        let folder = tempfile::tempdir().unwrap();
        let long = format!("sys/devices/{}numa_node", "pci0000:00/".repeat(20));
        let manifest = Manifest::new(String::new(), None, 0);
        let mut packer = Packer::new(Vec::new(), manifest).unwrap();
        for path in ["proc/stat", &long] {
            let (path, content) = (path.to_owned(), Content::Text(path.to_owned()));
            packer.add(Entry { path, content }).unwrap();
        }
        let archive = folder.path().join("archive");
        std::fs::write(&archive, packer.finish().unwrap().0).unwrap();
        let into = folder.path().join("into");
        unpack(&archive, &into).unwrap();
        for path in ["proc/stat", &long] {
            let read = std::fs::read_to_string(into.join(path)).unwrap();
            assert_eq!(read, path);
        }
    }
}
