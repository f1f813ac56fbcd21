//! Folders that others fill.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

/// The entries of a folder, in no order, and at most so many: others make new ones as fast as they
/// are read. Leaves out what cannot be read.
///
/// # Errors
/// When the folder cannot be listed.
pub fn entries(folder: &Path, at_most: usize) -> io::Result<impl Iterator<Item = DirEntry>> {
    Ok(fs::read_dir(folder)?.flatten().take(at_most))
}
