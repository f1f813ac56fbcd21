//! A machine from texts, as a folder with its files while it is looked at.

use std::fs;
use std::io;
use std::path::PathBuf;

use linux::Root;
use model::exit::ExitCode;
use pasted::Paste;
use tempfile::TempDir;

use super::gather;
use crate::failure::Failure;

/// What texts say, and the root of their machine. The folder goes when this is dropped.
pub(crate) struct PastedMachine {
    pub(crate) paste: Paste,
    root: Root,
    _folder: TempDir,
}

impl PastedMachine {
    /// Reads the texts of these files.
    pub(crate) fn of(files: &[PathBuf]) -> Result<Self, Failure> {
        let texts = gather(files)?;
        let refused = |error: pasted::Error| {
            Failure::new(ExitCode::Usage, format!("cannot read the text: {error}")).advise(
                "give the text of one machine at a time; docs/pasted.md lists what is recognised",
            )
        };
        let paste = pasted::read(&texts).map_err(refused)?;
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("cannot write the machine to a temporary folder: {error}");
            Failure::new(ExitCode::Usage, message)
        };
        let folder = written(&paste).map_err(|error| failed(&error))?;
        let root = Root::at(folder.path()).map_err(|error| failed(&error))?;
        Ok(PastedMachine {
            paste,
            root,
            _folder: folder,
        })
    }

    /// The root to read from.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }
}

/// Names of a text that contradict each other.
const CLASHES: [io::ErrorKind; 3] = [
    io::ErrorKind::AlreadyExists,
    io::ErrorKind::IsADirectory,
    io::ErrorKind::NotADirectory,
];

fn written(paste: &Paste) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("numalab-pasted-")
        .tempdir()?;
    for (path, text) in &paste.files {
        let place = folder.path().join(path);
        let parent = place.parent().map_or(Ok(()), fs::create_dir_all);
        match parent.and_then(|()| fs::write(&place, text)) {
            // No machine has a file and a folder of one name.
            Err(error) if !CLASHES.contains(&error.kind()) => return Err(error),
            _ => {}
        }
    }
    Ok(folder)
}
