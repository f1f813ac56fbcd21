//! The texts of the repository, read once and given to every rule.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// One text file.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// The path, relative to the root of the repository.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
}

impl SourceFile {
    /// Whether the file name ends in this, without the dot.
    pub(super) fn has_extension(&self, extension: &str) -> bool {
        self.path
            .extension()
            .is_some_and(|found| found == extension)
    }

    /// Whether the file contains only tests: below a tests directory, or named `tests.rs` or
    /// `…_tests.rs`.
    pub(super) fn is_test(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name == "tests.rs"
            || name.ends_with("_tests.rs")
            || self.path.iter().any(|part| part == "tests")
    }

    /// Returns the directory name of the crate that the file belongs to.
    pub(super) fn crate_name(&self) -> Option<&str> {
        crate_of(&self.path)
    }
}

/// Everything that the rules check.
#[derive(Debug)]
pub(super) struct Project {
    /// All text files, by path.
    pub files: Vec<SourceFile>,
    /// The paths of all files, text or not, and of all directories.
    pub paths: Vec<PathBuf>,
}

impl Project {
    /// Reads the repository at a root.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut project = Self {
            files: Vec::new(),
            paths: Vec::new(),
        };
        project.read_directory(root, Path::new(""))?;
        Ok(project)
    }

    /// Returns the Rust sources.
    pub(super) fn rust_files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.has_extension("rs"))
    }

    /// Returns the Cargo.toml files.
    pub(super) fn manifests(&self) -> impl Iterator<Item = &SourceFile> {
        self.files
            .iter()
            .filter(|file| file.path.ends_with("Cargo.toml"))
    }

    /// Returns the file at this path.
    pub(super) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == Path::new(path))
    }

    fn read_directory(&mut self, root: &Path, directory: &Path) -> Result<()> {
        let full = root.join(directory);
        let mut names: Vec<_> = fs::read_dir(&full)
            .with_context(|| format!("cannot list {}", full.display()))?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<Result<_, _>>()
            .with_context(|| format!("cannot list {}", full.display()))?;
        names.sort();
        for name in names
            .iter()
            .filter(|name| *name != "target" && *name != ".git")
        {
            let path = directory.join(name);
            // A file that vanishes meanwhile was a scratch file.
            let Ok(metadata) = fs::symlink_metadata(root.join(&path)) else {
                continue;
            };
            self.paths.push(path.clone());
            if metadata.is_dir() {
                self.read_directory(root, &path)?;
            } else if metadata.is_file()
                && let Ok(text) = fs::read_to_string(root.join(&path))
            {
                self.files.push(SourceFile { path, text });
            }
        }
        Ok(())
    }
}

/// `crates/base/linux/src/lib.rs` belongs to `linux`, `crates/numalab/src/main.rs` to `numalab`,
/// `xtask/src/main.rs` to `xtask`.
fn crate_of(path: &Path) -> Option<&str> {
    let mut parts = path.iter().map(|part| part.to_str());
    let is_crate = |name: &&str| ["numalab", "xtask"].contains(name);
    match (parts.next()??, parts.next()??) {
        ("xtask", _) => Some("xtask"),
        ("crates", name) if is_crate(&name) => Some(name).filter(|_| parts.next().is_some()),
        ("crates", _) => parts.next()?.filter(|_| parts.next().is_some()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_its_crate() {
        let cases = [
            ("crates/base/linux/src/lib.rs", Some("linux")),
            ("crates/base/linux/Cargo.toml", Some("linux")),
            ("crates/numalab/src/main.rs", Some("numalab")),
            ("xtask/src/main.rs", Some("xtask")),
            ("crates/README.md", None),
            ("crates/base/README.md", None),
            ("docs/guests.md", None),
        ];
        for (path, expected) in cases {
            assert_eq!(crate_of(Path::new(path)), expected, "{path}");
        }
    }
}
