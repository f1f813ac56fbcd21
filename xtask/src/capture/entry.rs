//! One captured file or link, and how it is read.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a path of the captured machine holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The text of a file.
    Text(String),
    /// The target of a symbolic link.
    Link(PathBuf),
    /// The file is there and cannot be read, for this reason.
    Unreadable(String),
}

/// A path, relative to the root of the captured machine, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path, without a leading slash.
    pub path: PathBuf,
    /// What is there.
    pub content: Content,
}

/// Reads one path below a root. None when nothing is there, or a directory.
pub fn read(root: &Path, path: &Path) -> Option<Entry> {
    let full = root.join(path);
    // The links of /proc lead to the process that reads them, so their content is what counts.
    let is_process_link = path.starts_with("proc");
    let metadata = if is_process_link {
        fs::metadata(&full)
    } else {
        fs::symlink_metadata(&full)
    };
    let kind = metadata.ok()?.file_type();
    let content = if kind.is_symlink() {
        Content::Link(fs::read_link(&full).ok()?)
    } else if kind.is_file() {
        read_text(&full)
    } else {
        return None;
    };
    Some(Entry {
        path: path.to_path_buf(),
        content,
    })
}

/// The kernel's files state no size, and some can be opened but not read.
fn read_text(path: &Path) -> Content {
    let mut bytes = Vec::new();
    match fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Content::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Content::Unreadable(error.to_string()),
    }
}
