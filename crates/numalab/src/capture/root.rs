//! `--root`: this machine, a directory with a captured one, or an archive, which is unpacked to a
//! temporary directory while it is in use.

use std::path::Path;

use linux::Root;
use model::exit::ExitCode;
use tempfile::TempDir;

use super::unpack::unpack;
use crate::failure::Failure;

/// A root directory, and the temporary directory that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct MachineRoot {
    root: Root,
    _unpacked: Option<TempDir>,
}

impl MachineRoot {
    /// Opens the machine at a path, or this machine if there is none.
    pub(crate) fn at(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            let root = Root::live();
            return Ok(MachineRoot {
                root,
                _unpacked: None,
            });
        };
        if path.is_file() {
            return Self::of_archive(path);
        }
        let root = Root::at(path).map_err(|error| refused(&error))?;
        Ok(MachineRoot {
            root,
            _unpacked: None,
        })
    }

    fn of_archive(path: &Path) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("numalab-capture-")
            .tempdir()
            .map_err(|error| {
                refused(&format!(
                    "cannot create a temporary directory to unpack it: \
                                               {error}"
                ))
            })?;
        unpack(path, folder.path())
            .map_err(|error| refused(&format!("{}: {error}", path.display())))?;
        let root = Root::at(folder.path()).map_err(|error| refused(&error))?;
        Ok(MachineRoot {
            root,
            _unpacked: Some(folder),
        })
    }

    /// Returns the root to read from.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }
}

/// The hint that says what `--root` accepts.
pub(crate) const WHAT_ROOT_TAKES: &str = "--root takes an archive written by `numalab capture \
                                          FILE.tar.zst`, or a directory with a captured sys and \
                                          proc";

fn refused(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(ExitCode::Usage, format!("cannot use --root: {error}")).advise(WHAT_ROOT_TAKES)
}
