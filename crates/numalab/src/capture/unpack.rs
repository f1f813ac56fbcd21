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
/// Maximum number of files: each takes a fifth of a millisecond to write and to remove, and they
/// are counted before any is written. A machine of 1,000 CPUs and 10,000 processes has fewer.
const FILES_MAX: usize = 1 << 17;
/// Maximum length of a path in bytes (`PATH_MAX`); paths are read into memory.
const PATH_BYTES_MAX: u64 = 4096;
/// Maximum length of the extended header of a file (pax): it has a path, times and an owner.
const PAX_BYTES_MAX: u64 = 64 << 10;
/// Maximum number of components of a path; those of /sys/devices have about twenty.
const DEPTH_MAX: usize = 64;

/// Why an archive cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
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
    #[error(
        "it has more than {FILES_MAX} files or {BYTES_MAX} bytes; if you trust it, unpack it into \
         a directory (tar -xf FILE -C DIRECTORY) and name that"
    )]
    TooLarge,
}

/// Unpacks the archive into a directory, which must be empty and writable by nobody else.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result<(), Error> {
    let decompressed = || zstd::Decoder::new(observed::open_named(archive)?);
    each_file(decompressed()?, |_, _| Ok(()))?;
    each_file(decompressed()?, |entry, path| {
        unpack_entry(entry, path, into)
    })
}

/// Hands over every entry of a tar archive but those that only describe the next one, with its
/// path.
pub(crate) fn each_file<R: Read>(
    decompressed: R,
    mut take: impl FnMut(&mut tar::Entry<'_, io::Take<R>>, PathBuf) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut archive = tar::Archive::new(decompressed.take(BYTES_MAX));
    let mut files = 0;
    let mut read = 0_u64;
    let mut path_before = None;
    // Raw, because otherwise `tar` reads a long path into memory, however long it is.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        files += 1;
        read = read.saturating_add(entry.size());
        if files > FILES_MAX || read >= BYTES_MAX {
            return Err(Error::TooLarge);
        }
        match entry.header().entry_type() {
            tar::EntryType::GNULongName => path_before = Some(read_path(&mut entry)?),
            tar::EntryType::XHeader => path_before = pax_path(&mut entry)?.or(path_before),
            // Of all files: comments, as git archive writes them.
            tar::EntryType::XGlobalHeader => {}
            _ => {
                let path = match path_before.take() {
                    Some(path) => path,
                    None => entry.path()?.into_owned(),
                };
                take(&mut entry, path)?;
            }
        }
    }
    Ok(())
}

/// Reads the path of the next entry.
fn read_path(entry: &mut tar::Entry<impl Read>) -> Result<PathBuf, Error> {
    let mut bytes = contents(entry, PATH_BYTES_MAX, "a path that is too long")?;
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok(OsString::from_vec(bytes).into())
}

/// Reads the path of the next entry, if its extended header has one.
fn pax_path(entry: &mut tar::Entry<impl Read>) -> Result<Option<PathBuf>, Error> {
    let bytes = contents(entry, PAX_BYTES_MAX, "an extended header that is too long")?;
    let mut path = None;
    for record in tar::PaxExtensions::new(&bytes) {
        let record = record?;
        match record.key_bytes() {
            b"path" => path = Some(OsString::from_vec(record.value_bytes().to_vec()).into()),
            // Only files of 8 GiB need it.
            b"size" => return Err(Error::TooLarge),
            _ => {}
        }
    }
    Ok(path)
}

fn contents(
    entry: &mut tar::Entry<impl Read>,
    most: u64,
    found: &'static str,
) -> Result<Vec<u8>, Error> {
    if entry.size() > most {
        let path = entry.path()?.into_owned();
        return Err(Error::Entry { path, found });
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unpack_entry(
    entry: &mut tar::Entry<impl Read>,
    path: PathBuf,
    into: &Path,
) -> Result<(), Error> {
    // `tar -C DIRECTORY -cf FILE .` names all files from `./` on.
    let is_plain = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
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

    /// An archive of these entries: the type, the path and the content of each.
    fn archive(entries: &[(tar::EntryType, &str, &[u8])]) -> tempfile::NamedTempFile {
        let compressed = zstd::Encoder::new(Vec::new(), 1).unwrap();
        let mut archive = tar::Builder::new(compressed);
        for (kind, path, content) in entries {
            let mut header = tar::Header::new_ustar();
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            archive.append(&header, *content).unwrap();
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes = archive.into_inner().unwrap().finish().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn archives_of_other_programs_are_unpacked() {
        use tar::EntryType::{Directory, Regular, XGlobalHeader, XHeader};
        let into = tempfile::tempdir().unwrap();
        let entries: [(tar::EntryType, &str, &[u8]); 6] = [
            (XGlobalHeader, "pax_global_header", b"13 comment=a\n"),
            (Directory, "./", b""),
            (Directory, "./proc/", b""),
            (Regular, "./proc/stat", b"cpu"),
            (
                XHeader,
                "PaxHeaders/x",
                b"22 mtime=1445556.1234\n21 path=sys/kernel/a\n",
            ),
            (Regular, "short", b"long"),
        ];
        unpack(archive(&entries).path(), into.path()).unwrap();
        for (path, content) in [("proc/stat", "cpu"), ("sys/kernel/a", "long")] {
            assert_eq!(
                std::fs::read_to_string(into.path().join(path)).unwrap(),
                content
            );
        }
        let outside: [(tar::EntryType, &str, &[u8]); 2] = [
            (XHeader, "PaxHeaders/x", b"16 path=../../a\n"),
            (Regular, "short", b""),
        ];
        let error = unpack(archive(&outside).path(), into.path()).unwrap_err();
        assert!(error.to_string().contains("is outside of it"), "{error}");
    }

    #[test]
    fn too_many_files_are_refused_before_any_is_written() {
        let into = tempfile::tempdir().unwrap();
        let entries =
            vec![(tar::EntryType::Regular, "proc/1/stat", &b""[..]); super::FILES_MAX + 1];
        let error = unpack(archive(&entries).path(), into.path()).unwrap_err();
        assert!(error.to_string().contains("tar -xf"), "{error}");
        assert_eq!(std::fs::read_dir(into.path()).unwrap().count(), 0);
    }
}
