//! A directory below a root, held open: each of its files costs the lookup of one name instead of a
//! whole path. Some machines have thirty files for each of a thousand CPUs.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::root::absent_is_none;
use crate::{Error, Root, TextFile};

/// A directory of a root.
pub struct Directory<'a> {
    root: &'a Root,
    path: String,
    /// `None` where there is no such directory, or it is hidden.
    held: Option<OwnedFd>,
}

impl<'a> Directory<'a> {
    /// Holds a directory that a kernel may lack.
    ///
    /// # Errors
    /// As [`Root::entries`].
    pub(crate) fn hold(root: &'a Root, path: String) -> Result<Self, Error> {
        let held = absent_is_none(root.hold(&path))?;
        Ok(Directory { root, path, held })
    }

    /// As [`Root::entries`], for the directory `name` of this directory.
    ///
    /// # Errors
    /// As [`Root::entries`].
    pub(crate) fn entries(&self, name: &str) -> Result<Option<Vec<String>>, Error> {
        match &self.held {
            Some(held) => self.root.entries_in((held, &self.path), name),
            None => Ok(None),
        }
    }

    /// The full path of `name` in this directory, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path(&format!("{}/{name}", self.path))
    }

    /// As [`Root::read_optional`], for the file `name` of this directory or of one below it.
    ///
    /// # Errors
    /// As [`Root::read_optional`].
    pub(crate) fn read_optional(&self, name: &str) -> Result<Option<TextFile>, Error> {
        match &self.held {
            Some(held) => self.root.read_optional_in((held, &self.path), name),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::Directory;
    use crate::{Error, Root};

    #[test]
    fn files_of_a_held_directory_read_as_by_their_paths() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("root");
        fs::create_dir_all(folder.join("d/sub")).unwrap();
        fs::write(above.path().join("outside"), "x\n").unwrap();
        fs::write(folder.join("beside"), "2\n").unwrap();
        for (name, content) in [("a", &b"1\n\0rest"[..]), ("empty", b""), ("bad", b"\xff\n")] {
            fs::write(folder.join("d").join(name), content).unwrap();
        }
        symlink("../beside", folder.join("d/link")).unwrap();
        symlink("../../outside", folder.join("d/out")).unwrap();
        fs::write(folder.join("d/sub/b"), "3\n").unwrap();
        symlink("sub", folder.join("d/to-sub")).unwrap();
        symlink("../..", folder.join("d/above")).unwrap();
        mkfifoat(CWD, folder.join("d/pipe"), Mode::RUSR).unwrap();
        let root = Root::at(&folder).unwrap();
        let directory = Directory::hold(&root, "d".to_owned()).unwrap();
        let same = |name: &str| {
            let text = |read: Result<Option<crate::TextFile>, Error>| {
                let read = read.map(|file| file.map(|file| file.text().to_owned()));
                read.map_err(|error| error.to_string())
            };
            let (held, by_path) = (
                text(directory.read_optional(name)),
                text(root.read_optional(&format!("d/{name}"))),
            );
            assert_eq!(held, by_path, "{name}");
            held
        };
        assert_eq!(same("a"), Ok(Some("1\n".to_owned())));
        assert_eq!(same("link"), Ok(Some("2\n".to_owned())));
        assert_eq!(same("empty"), Ok(None));
        assert_eq!(same("none"), Ok(None));
        assert_eq!(same("sub/b"), Ok(Some("3\n".to_owned())));
        assert_eq!(same("to-sub/b"), Ok(Some("3\n".to_owned())));
        assert_eq!(same("sub/none"), Ok(None));
        for refused in ["bad", "sub", "out", "above/outside", "pipe"] {
            assert!(same(refused).is_err(), "{refused}");
        }
        let entries = |name: &str| directory.entries(name).map_err(|error| error.to_string());
        assert_eq!(entries("to-sub"), Ok(Some(vec!["b".to_owned()])));
        assert_eq!(entries("none"), Ok(None));
        assert!(entries("above").is_err());
        let long = "x".repeat(5000);
        fs::write(folder.join("d/long"), &long).unwrap();
        assert_eq!(same("long"), Ok(Some(long)));
        let none = Directory::hold(&root, "none".to_owned()).unwrap();
        assert!(none.read_optional("a").unwrap().is_none());
    }

    #[test]
    fn a_directory_of_this_kernel_reads_as_by_paths() {
        let root = Root::live();
        let directory = Directory::hold(&root, "proc/self".to_owned()).unwrap();
        let comm = directory.read_optional("comm").unwrap().unwrap();
        assert_eq!(comm.text(), root.read("proc/self/comm").unwrap().text());
        let refused = directory.read_optional("task");
        assert!(matches!(refused, Err(Error::NotAFile { .. })));
        assert!(directory.read_optional("none").unwrap().is_none());
    }
}
