//! Files and folders as packages have them: for all to read.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Copies a file; all may read it, and execute it if it is a program.
pub(super) fn put(file: &Path, place: &Path) -> Result<()> {
    let content = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let is_program = content.starts_with(b"\x7fELF") || content.starts_with(b"#!");
    write(place, &content)?;
    let mode = if is_program { 0o755 } else { 0o644 };
    set_mode(place, mode)
}

/// Writes a file that all may read, and the folders above it.
pub(super) fn write(place: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create {}", parent.display()))?;
    }
    fs::write(place, content).with_context(|| format!("cannot write {}", place.display()))?;
    set_mode(place, 0o644)
}

fn set_mode(place: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(place, Permissions::from_mode(mode))
        .with_context(|| format!("cannot change {}", place.display()))
}

/// Makes an empty folder.
pub(super) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// The names in a folder, in order.
pub(super) fn names(folder: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}
