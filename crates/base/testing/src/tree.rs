//! A captured machine: files of `/proc` and `/sys` by path, as one text archive in `trees/`, in
//! memory, or unpacked into a temporary directory for a test.
//!
//! `cargo xtask capture-tree` writes the archive: comment lines that begin with `#` at the top;
//! then a line `==> PATH <==` and the content for each file, and a line `==> PATH -> TARGET <==`
//! for each symbolic link. A file with no lines before the next such line is empty.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::Error;

/// Files and symbolic links by their path relative to the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File(Vec<u8>),
    Link(String),
}

/// An unpacked tree; removed when dropped.
#[derive(Debug)]
pub struct Unpacked {
    directory: tempfile::TempDir,
}

impl Unpacked {
    /// The root directory of the machine.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A message without the path of the directory, which differs from run to run: `ROOT/sys/…`.
    pub fn without_directory(&self, message: &str) -> String {
        message.replace(&self.path().display().to_string(), "ROOT")
    }
}

/// The names of the archives in `trees/`, without `.tree`, in order.
///
/// # Errors
/// When the directory cannot be read.
pub fn names() -> Result<Vec<String>, Error> {
    let directory = trees();
    let file_error = |cause| Error::File {
        path: directory.clone(),
        cause,
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory).map_err(file_error)? {
        let name = entry.map_err(file_error)?.file_name();
        names.extend(
            name.to_string_lossy()
                .strip_suffix(".tree")
                .map(str::to_owned),
        );
    }
    names.sort_unstable();
    Ok(names)
}

/// Unpacks the archive `trees/NAME.tree`.
///
/// # Errors
/// When there is no such archive, it is malformed, or it cannot be unpacked.
pub fn expand(name: &str) -> Result<Unpacked, Error> {
    Tree::captured(name)?.expand()
}

fn trees() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("trees")
}

impl Tree {
    /// The archive `trees/NAME.tree`.
    ///
    /// # Errors
    /// When there is no such archive or it is malformed.
    pub fn captured(name: &str) -> Result<Self, Error> {
        let path = trees().join(format!("{name}.tree"));
        let text = fs::read_to_string(&path).map_err(|cause| Error::File { path, cause })?;
        Self::parse(&text)
    }

    /// Reads the text of an archive.
    ///
    /// # Errors
    /// When it is malformed, or names a path twice or one outside the root.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut tree = Self::default();
        let mut file: Option<(String, String)> = None;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            match (header(line), &mut file) {
                (Some(header), _) => {
                    tree.add_parsed(file.take())?;
                    match header.split_once(" -> ") {
                        Some((path, target)) => {
                            tree.add_new(path, Entry::Link(target.to_owned()))?;
                        }
                        None => file = Some((header.to_owned(), String::new())),
                    }
                }
                (None, Some((_, content))) => content.push_str(line),
                (None, None) if line.starts_with('#') && tree.entries.is_empty() => {}
                (None, None) => {
                    let expected = "a line such as \"==> proc/meminfo <==\"";
                    return Err(Error::Archive {
                        line: index + 1,
                        expected,
                    });
                }
            }
        }
        tree.add_parsed(file.take())?;
        Ok(tree)
    }

    fn add_parsed(&mut self, file: Option<(String, String)>) -> Result<(), Error> {
        match file {
            Some((path, content)) => self.add_new(&path, Entry::File(content.into_bytes())),
            None => Ok(()),
        }
    }

    fn add_new(&mut self, path: &str, entry: Entry) -> Result<(), Error> {
        let error = |expected| {
            Err(Error::Path {
                path: path.to_owned(),
                expected,
            })
        };
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        if !path.split('/').all(is_plain) || path.contains('\0') {
            return error("a path below the root");
        }
        if self.entries.insert(path.to_owned(), entry).is_some() {
            return error("each path once");
        }
        Ok(())
    }

    /// Adds a file to the tree, or replaces the content of an existing one.
    pub fn set(&mut self, path: &str, content: impl Into<Vec<u8>>) -> &mut Self {
        self.entries
            .insert(path.to_owned(), Entry::File(content.into()));
        self
    }

    /// Removes a file, or everything below a directory, from the tree.
    pub fn remove(&mut self, path: &str) -> &mut Self {
        let below = format!("{path}/");
        self.entries
            .retain(|entry, _| entry != path && !entry.starts_with(&below));
        self
    }

    /// The tree with `change` applied to the path and content of every file.
    pub fn map(&self, change: impl Fn(&str, &[u8]) -> (String, Vec<u8>)) -> Self {
        let entries = self.entries.iter().map(|(path, entry)| match entry {
            Entry::Link(_) => (path.clone(), entry.clone()),
            Entry::File(content) => {
                let (path, content) = change(path, content);
                (path, Entry::File(content))
            }
        });
        Self {
            entries: entries.collect(),
        }
    }

    /// The content of a file of the tree, if it is UTF-8.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.entries.get(path) {
            Some(Entry::File(content)) => std::str::from_utf8(content).ok(),
            _ => None,
        }
    }

    /// The paths in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The tree as the text of an archive. There every content ends with a newline, even where it
    /// does not in the tree, and invalid UTF-8 is replaced.
    pub fn archive(&self, title: &str) -> String {
        let mut text = format!("# {title}\n");
        for (path, entry) in &self.entries {
            match entry {
                Entry::Link(target) => text.push_str(&format!("==> {path} -> {target} <==\n")),
                Entry::File(content) => {
                    text.push_str(&format!("==> {path} <==\n"));
                    text.push_str(&String::from_utf8_lossy(content));
                    if !content.is_empty() && !content.ends_with(b"\n") {
                        text.push('\n');
                    }
                }
            }
        }
        text
    }

    /// Unpacks the tree into a new temporary directory.
    ///
    /// # Errors
    /// When a file cannot be written, for instance because its path is also that of a directory.
    pub fn expand(&self) -> Result<Unpacked, Error> {
        self.expand_in(&std::env::temp_dir())
    }

    /// Unpacks the tree into tmpfs where the machine has one: for tests that unpack thousands of
    /// files, which is slow on disks.
    ///
    /// # Errors
    /// As [`Tree::expand`].
    pub fn expand_in_memory(&self) -> Result<Unpacked, Error> {
        let memory = Path::new("/dev/shm");
        match tempfile::tempdir_in(memory) {
            Ok(_) => self.expand_in(memory),
            Err(_) => self.expand(),
        }
    }

    fn expand_in(&self, above: &Path) -> Result<Unpacked, Error> {
        let file_error = |path: &Path, cause| Error::File {
            path: path.to_owned(),
            cause,
        };
        let directory = tempfile::tempdir_in(above).map_err(|cause| file_error(above, cause))?;
        // Create links last, so that no file is ever written through one.
        let is_link = |entry: &Entry| matches!(entry, Entry::Link(_));
        let files = self.entries.iter().filter(|(_, entry)| !is_link(entry));
        let links = self.entries.iter().filter(|(_, entry)| is_link(entry));
        for (path, entry) in files.chain(links) {
            let path = directory.path().join(path);
            let parent = path.parent().unwrap_or(directory.path());
            fs::create_dir_all(parent).map_err(|cause| file_error(&path, cause))?;
            match entry {
                Entry::File(content) => fs::write(&path, content),
                Entry::Link(target) => symlink(target, &path),
            }
            .map_err(|cause| file_error(&path, cause))?;
        }
        Ok(Unpacked { directory })
    }
}

/// `PATH` or `PATH -> TARGET` of a line `==> … <==`.
fn header(line: &str) -> Option<&str> {
    line.strip_suffix('\n')
        .unwrap_or(line)
        .strip_prefix("==> ")?
        .strip_suffix(" <==")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ARCHIVE: &str = "# A machine.\n# In words.\n==> proc/meminfo <==\nMemTotal: 1 kB\n# no \
                           comment\n\n==> sys/empty <==\n==> sys/link -> ../proc <==\n";

    #[test]
    fn an_archive_is_unpacked_as_it_was_written() {
        let unpacked = Tree::parse(ARCHIVE).unwrap().expand().unwrap();
        let read = |path: &str| fs::read_to_string(unpacked.path().join(path)).unwrap();
        assert_eq!(read("proc/meminfo"), "MemTotal: 1 kB\n# no comment\n\n");
        assert_eq!(read("sys/empty"), "");
        assert_eq!(read("sys/link/meminfo"), read("proc/meminfo"));
    }

    #[test]
    fn malformed_archives_name_the_line_or_the_path() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Tree::parse(text).unwrap_err().to_string(), expected);
        };
        let header = "expected a line such as \"==> proc/meminfo <==\"";
        check("MemTotal: 1 kB\n", &format!("line 1: {header}"));
        check("# x\n==> a -> b <==\nc\n", &format!("line 3: {header}"));
        check("# x\n==> a -> b <==\n# c\n", &format!("line 3: {header}"));
        check("==> ../a <==\n", "../a: expected a path below the root");
        check("==> /a <==\n", "/a: expected a path below the root");
        check(
            "==> a/../../b -> c <==\n",
            "a/../../b: expected a path below the root",
        );
        check("==> a <==\n==> a <==\n", "a: expected each path once");
        let collision = Tree::parse("==> a <==\n==> a/b <==\n").unwrap();
        assert!(matches!(collision.expand(), Err(Error::File { .. })));
    }

    #[test]
    fn files_are_replaced_and_removed() {
        let mut tree = Tree::parse(ARCHIVE).unwrap();
        tree.set("sys/empty", "1\n")
            .remove("proc")
            .remove("sys/link");
        assert_eq!(tree.paths().collect::<Vec<_>>(), ["sys/empty"]);
        assert_eq!(tree.text("sys/empty"), Some("1\n"));
        assert_eq!(tree.text("proc/meminfo"), None);
    }

    #[test]
    fn the_committed_archives_can_be_read() {
        for name in names().unwrap() {
            let tree = Tree::captured(&name).unwrap();
            assert!(tree.text("proc/meminfo").is_some(), "{name}");
            assert_eq!(Tree::parse(&tree.archive(&name)).unwrap(), tree, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = Tree::parse(&text);
        }

        #[test]
        fn no_text_like_an_archive_panics(
            lines in prop::collection::vec("(#|==> )?[a./]{0,4}( -> [a./]{0,3})?( <==)?", 0..8)
        ) {
            if let Ok(tree) = Tree::parse(&lines.join("\n")) {
                let _ = Tree::parse(&tree.archive("again"));
            }
        }

        #[test]
        fn trees_round_trip(
            files in prop::collection::btree_map(
                "[a-c]{1,2}(/[a-c]{1,2}){0,2}",
                "([a-z0-9 ]{0,5}\n){0,3}",
                0..6,
            )
        ) {
            let mut tree = Tree::default();
            for (path, content) in &files {
                tree.set(path, content.as_str());
            }
            prop_assert_eq!(Tree::parse(&tree.archive("title")).unwrap(), tree);
        }
    }
}
