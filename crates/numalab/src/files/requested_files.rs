//! Files that a user requested beside the result of a command.

use model::counted;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use model::exit::ExitCode;

use crate::failure::Failure;
use crate::output;

/// Writes a file requested in addition to the result. A regular file has its old content until it
/// has the new one.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    written(path, content.as_ref(), None).map_err(|cause| unwritable(path, &cause))
}

/// Like [`write()`], for a file that other users read, whatever the umask is.
pub(crate) fn write_for_all(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mode = Some(0o644);
    written(path, content.as_ref(), mode).map_err(|cause| unwritable(path, &cause))
}

fn written(path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    match fs::metadata(path) {
        // A device or pipe keeps its place, and a link what it leads to.
        Ok(_) if !is_plain(path) => fs::write(path, content),
        _ => replace(path, content, mode),
    }
}

/// Writes the result of a command where it was requested: into a file, and says so, or to stdout
/// for `-`.
pub(crate) fn write_result(path: &Path, text: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return output::data(text);
    }
    write(path, text)?;
    output::talk(&format!(
        "wrote {} ({})",
        path.display(),
        counted(text.len(), "byte")
    ));
    Ok(())
}

fn is_plain(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file())
}

fn replace(path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.numalab-{}", std::process::id()));
    // One that is there already was left by a process that was killed.
    let _ = fs::remove_file(&beside);
    let replaced = create(&beside, content, mode).and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&beside);
    }
    replaced
}

/// Creates a file that is not there yet; follows no link.
fn create(path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o666)
        .open(path)?;
    if let Some(mode) = mode {
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    file.write_all(content)
}

/// Checks that a file can be written, before anything is measured.
pub(crate) fn check_writable(path: Option<&PathBuf>) -> Result<(), Failure> {
    let Some(path) = path else {
        return Ok(());
    };
    let opened = fs::OpenOptions::new().create(true).append(true).open(path);
    opened.map(|_| ()).map_err(|cause| unwritable(path, &cause))
}

fn unwritable(path: &Path, cause: &io::Error) -> Failure {
    let exit_code = match cause.kind() {
        io::ErrorKind::PermissionDenied => ExitCode::NotPermitted,
        _ => ExitCode::Usage,
    };
    let message = format!("cannot write {}: {cause}", path.display());
    Failure::new(exit_code, message).advise("name a writable file")
}
