//! The archive for any distribution: one folder, to be unpacked below /usr/local.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tar::{Builder, EntryType, Header};

use super::files::names;

/// The compression, from 1 to 22: beyond this, each level takes twice the time for 1 % of the size.
const LEVEL: i32 = 19;

/// Writes a tree as an archive for a processor, and returns its path. The same tree makes the same
/// archive.
pub(super) fn write(tree: &Path, folder: &Path, machine: &str, made_at: u64) -> Result<PathBuf> {
    let name = format!("numalab-{}-{machine}", env!("CARGO_PKG_VERSION"));
    let path = folder.join(format!("{name}.tar.zst"));
    let written = write_to(&path, tree, &name, made_at);
    written.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn write_to(path: &Path, tree: &Path, name: &str, made_at: u64) -> Result<()> {
    let mut archive = Builder::new(zstd::Encoder::new(File::create(path)?, LEVEL)?);
    append(&mut archive, tree, Path::new(name), made_at)?;
    archive.into_inner()?.finish()?;
    Ok(())
}

fn append(archive: &mut Builder<impl Write>, from: &Path, name: &Path, made_at: u64) -> Result<()> {
    let metadata = fs::metadata(from).with_context(|| format!("cannot read {}", from.display()))?;
    let mut header = Header::new_gnu();
    header.set_mode(metadata.permissions().mode() & 0o777);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(made_at);
    if metadata.is_dir() {
        header.set_entry_type(EntryType::Directory);
        header.set_mode(0o755);
        header.set_size(0);
        archive.append_data(&mut header, name, &[][..])?;
        return names(from)?
            .iter()
            .try_for_each(|it| append(archive, &from.join(it), &name.join(it), made_at));
    }
    let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    header.set_size(metadata.len());
    archive.append_data(&mut header, name, content.as_slice())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::files::{put, write as write_file};
    use super::*;

    #[test]
    fn an_archive_has_every_file_with_its_mode_and_is_the_same_each_time() {
        let folder = std::env::temp_dir().join(format!("numalab-archive-{}", std::process::id()));
        let from = folder.join("tree");
        write_file(&from.join("share/text"), "text").unwrap();
        write_file(&folder.join("script"), "#!/bin/sh\n").unwrap();
        put(&folder.join("script"), &from.join("bin/script")).unwrap();
        let first = fs::read(write(&from, &folder, "x86_64", 7).unwrap()).unwrap();
        let path = write(&from, &folder, "x86_64", 7).unwrap();
        assert_eq!(fs::read(&path).unwrap(), first);
        let opened = zstd::Decoder::new(File::open(&path).unwrap()).unwrap();
        let mut archive = tar::Archive::new(opened);
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.mtime().unwrap()), (0, 7));
            let path = entry.path().unwrap().display().to_string();
            let below = path.split_once('/').map_or("", |(_, below)| below);
            (below.to_owned(), header.mode().unwrap())
        });
        let entries: Vec<_> = entries.collect();
        fs::remove_dir_all(&folder).unwrap();
        let expected = [
            ("", 0o755),
            ("bin", 0o755),
            ("bin/script", 0o755),
            ("share", 0o755),
            ("share/text", 0o644),
        ];
        let expected = expected.map(|(name, mode)| (name.to_owned(), mode));
        assert_eq!(entries, expected);
    }
}
