//! Gathers the texts that `--from` names: files, archives and folders.

use std::fs;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use model::exit::ExitCode;
use pasted::Text;

use super::archive;
use super::bundle::{Kept, kept};
use crate::failure::Failure;

/// Maximum size of a file of text.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Maximum size of all text.
const BYTES_MAX: u64 = 256 << 20;
/// Maximum number of files that are kept of a bundle.
const FILES_MAX: usize = 1 << 16;
/// Maximum number of folders on the way to a file of a folder.
const DEPTH_MAX: usize = 12;
/// How much of a file tells what it is: up to the magic number of tar.
const START_BYTES: usize = 512;

/// Reads the files; `-` is stdin.
pub(crate) fn gather(files: &[PathBuf]) -> Result<Vec<Text>, Failure> {
    let mut texts = Texts::default();
    for file in files {
        let before = texts.all.len();
        let added = texts.add(file);
        added.map_err(|error| unreadable(file, &error.to_string()))?;
        if texts.all.len() == before {
            return Err(unreadable(file, "it has no file that is known"));
        }
    }
    Ok(texts.all)
}

fn unreadable(file: &Path, why: &str) -> Failure {
    let message = format!("cannot read {}: {why}", file.display());
    Failure::new(ExitCode::Usage, message).advise(
        "--from takes text (output of numactl, numastat, lscpu, numa_maps, …), what `numalab \
         capture --script` prints, a capture, a sosreport, or a supportconfig",
    )
}

#[derive(Default)]
struct Texts {
    all: Vec<Text>,
    bytes: u64,
}

impl Texts {
    fn add(&mut self, path: &Path) -> io::Result<()> {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            io::stdin()
                .take(FILE_BYTES_MAX + 1)
                .read_to_end(&mut bytes)?;
            return self.text("-".to_owned(), None, bytes);
        }
        if fs::metadata(path)?.is_dir() {
            return self.folder(path, path, DEPTH_MAX);
        }
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let mut file = observed::open_named(path)?;
        if !file.metadata()?.is_file() {
            let mut bytes = Vec::new();
            file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            return self.text(name, None, bytes);
        }
        let mut start = Vec::new();
        Read::by_ref(&mut file)
            .take(START_BYTES as u64)
            .read_to_end(&mut start)?;
        let whole = Cursor::new(start.clone()).chain(file);
        if archive::is_archive(&start) {
            let whole = BufReader::new(whole);
            return archive::each_kept(whole, &start, |path, kept, entry| {
                let mut bytes = Vec::new();
                entry.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
                self.kept(&path, kept, bytes)
            });
        }
        let mut bytes = Vec::new();
        whole.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        self.text(name, None, bytes)
    }

    /// Adds the files of a folder that are known by their paths. Links are not followed.
    fn folder(&mut self, top: &Path, folder: &Path, depth: usize) -> io::Result<()> {
        let listed = match observed::entries(folder, FILES_MAX) {
            Ok(listed) => listed,
            // What others may not see is left out, as in a capture.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut entries: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            let kind = fs::symlink_metadata(&path)?;
            if kind.is_dir() {
                if depth > 0 {
                    self.folder(top, &path, depth - 1)?;
                }
                continue;
            }
            let below = path.strip_prefix(top).unwrap_or(&path);
            let Some(kept) = kept(below).filter(|_| kind.is_file()) else {
                continue;
            };
            let file = linux::plain_file::open_regular(&path)?;
            let mut bytes = Vec::new();
            file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            self.kept(below, kept, bytes)?;
        }
        Ok(())
    }

    fn kept(&mut self, path: &Path, kept: Kept, bytes: Vec<u8>) -> io::Result<()> {
        let name = path.display().to_string();
        match kept {
            Kept::OfKernel(path) => self.text_of(name, Some(path), true, bytes),
            Kept::Text => self.text_of(name, None, true, bytes),
        }
    }

    fn text(&mut self, name: String, path: Option<String>, bytes: Vec<u8>) -> io::Result<()> {
        self.text_of(name, path, false, bytes)
    }

    fn text_of(
        &mut self,
        name: String,
        path: Option<String>,
        is_of_bundle: bool,
        bytes: Vec<u8>,
    ) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        let is_large = bytes.len() as u64 > FILE_BYTES_MAX || self.bytes > BYTES_MAX;
        if is_large || self.all.len() >= FILES_MAX {
            return Err(io::Error::other(
                "it has more than 64 MiB in one text, 256 MiB in all, or 65,536 files",
            ));
        }
        let content = String::from_utf8_lossy(&linux::plain_text(bytes)).into_owned();
        self.all.push(Text {
            name,
            content,
            path,
            is_of_bundle,
        });
        Ok(())
    }
}
