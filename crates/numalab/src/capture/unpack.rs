//! Unpacking a capture that came from somewhere else: nothing but files and folders, nothing
//! outside the folder it is unpacked to, and no more than a capture has.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The most bytes that are unpacked: maps and numa_maps of thousands of processes with thousands
/// of mappings each.
const BYTES_MAX: u64 = 8 << 30;
/// The most files.
const FILES_MAX: usize = 1 << 20;

/// Why an archive cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The archive cannot be read: it is cut, damaged, or something else.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It has something that captures do not have.
    #[error("{path:?} in it is {found}; a capture has only files below its own folder")]
    Entry {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// It has more than captures have.
    #[error("it has more than {BYTES_MAX} bytes or {FILES_MAX} files")]
    TooLarge,
}

/// Unpacks the archive into a folder.
pub fn unpack(archive: &Path, into: &Path) -> Result<(), Error> {
    let decompressed = zstd::Decoder::new(File::open(archive)?)?;
    let mut archive = tar::Archive::new(decompressed.take(BYTES_MAX));
    let mut files = 0;
    let mut read = 0_u64;
    for entry in archive.entries()? {
        let mut entry = entry?;
        files += 1;
        read = read.saturating_add(entry.size());
        if files > FILES_MAX || read >= BYTES_MAX {
            return Err(Error::TooLarge);
        }
        let path = entry.path()?.into_owned();
        let is_plain = |part: Component| matches!(part, Component::Normal(_));
        if !path.components().all(is_plain) {
            let found = "outside of it";
            return Err(Error::Entry { path, found });
        }
        let place = into.join(&path);
        match entry.header().entry_type() {
            tar::EntryType::Directory => fs::create_dir_all(&place)?,
            tar::EntryType::Regular => {
                if let Some(folder) = place.parent() {
                    fs::create_dir_all(folder)?;
                }
                io::copy(&mut entry, &mut File::create_new(&place)?)?;
            }
            _ => {
                let found = "neither a file nor a folder";
                return Err(Error::Entry { path, found });
            }
        }
    }
    Ok(())
}
