//! The rules for the folder of a throw-away server: where it may be, how it is made, and what marks
//! it as numalab's.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use journal::Error;
use model::ServerKind;

/// The file that marks a folder as numalab's: created first, removed last.
const MARKER: &str = "numalab.cluster";
/// A folder has the directories of its server, and few files beside them.
const ENTRIES_MAX: usize = 1 << 16;

/// Returns the prefix of the name of every folder of this database.
fn prefix(kind: ServerKind) -> String {
    format!("numalab-{}-", kind.id())
}

/// Returns the name of the folder of process `pid`.
pub(crate) fn name_of(kind: ServerKind, pid: u32) -> String {
    format!("{}{pid}-0", prefix(kind))
}

/// Returns whether this is the path of a folder that process `pid` created, without symbolic links.
pub(crate) fn is_name_of(kind: ServerKind, folder: &Path, pid: u32) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    let begin = format!("{}{pid}-", prefix(kind));
    let number = name.and_then(|name| name.strip_prefix(&begin));
    let is_number = number.is_some_and(|number| number.parse::<u32>().is_ok());
    let real = folder.canonicalize();
    is_number && real.map_or(true, |real| real.as_os_str() == folder.as_os_str())
}

/// Returns the path without links of a directory in which nobody could replace numalab's folder.
pub(crate) fn safe_place(parent: &Path) -> Result<PathBuf, Error> {
    let unsafe_place = |error| {
        let cause = format!("{error}; set TMPDIR to another directory");
        folder_error("use", parent, io::Error::other(cause))
    };
    linux::private_folder::place_for_folders(parent).map_err(unsafe_place)
}

/// Creates a folder that this group may pass through.
pub(crate) fn make(folder: &Path, group: Option<u32>) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    fs::write(
        folder.join(MARKER),
        "a throw-away server of numalab; `numalab undo` removes it\n",
    )?;
    let Some(group) = group else {
        return Ok(());
    };
    lchown(folder, None, Some(group))?;
    fs::set_permissions(folder, Permissions::from_mode(0o710))
}

/// Refuses a folder that numalab did not create. Its own belong to the user who created them, and
/// no other user can write to them, whatever the server does in the directories given to it.
pub(crate) fn require_ours(kind: ServerKind, folder: &Path) -> Result<(), String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let prefix = prefix(kind);
    let named = match name.starts_with(&prefix) {
        true => Ok(()),
        false => Err(format!("its name does not begin with {prefix}")),
    };
    named
        .and_then(|()| require_own(folder, true))
        .and_then(|()| require_own(&folder.join(MARKER), false))
        .map_err(|reason| format!("this user's numalab did not create the folder: {reason}"))
}

fn require_own(path: &Path, is_folder: bool) -> Result<(), String> {
    let status = path.symlink_metadata().map_err(|cause| cause.to_string())?;
    let is_kind = match is_folder {
        true => status.is_dir(),
        // A file with a second hard link existed before.
        false => status.is_file() && status.nlink() == 1,
    };
    if !is_kind {
        return Err(format!("{} is something else", path.display()));
    }
    let (owner, mode) = (status.uid(), status.mode() & 0o7777);
    if owner != linux::process::user() || mode & 0o022 != 0 {
        let path = path.display();
        return Err(format!("{path} belongs to user {owner}, mode {mode:o}"));
    }
    Ok(())
}

/// Returns whether the folder is there, as far as it has its marker.
pub(crate) fn is_made(folder: &Path) -> bool {
    folder.join(MARKER).exists()
}

/// Removes a folder with everything in it. The marker goes last, so that an interrupted removal can
/// be resumed.
pub(crate) fn remove(folder: &Path) -> Result<(), Error> {
    let marker = folder.join(MARKER);
    let entries = observed::entries(folder, ENTRIES_MAX);
    for entry in entries.map_err(|cause| folder_error("list", folder, cause))? {
        let path = entry.path();
        if path == marker {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = match is_folder {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        removed.map_err(|cause| folder_error("remove", &path, cause))?;
    }
    fs::remove_file(&marker)
        .and_then(|()| fs::remove_dir(folder))
        .map_err(|cause| folder_error("remove", folder, cause))
}

/// Creates the error of an operation on a folder.
pub(crate) fn folder_error(action: &'static str, folder: &Path, cause: io::Error) -> Error {
    Error::Folder {
        action,
        path: folder.to_owned(),
        cause,
    }
}
