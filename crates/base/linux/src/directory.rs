//! A directory below a root, held open: each of its files costs the lookup of one name instead of a
//! whole path. Some machines have thirty files for each of a thousand CPUs.

use std::os::fd::OwnedFd;

use crate::root::absent_is_none;
use crate::{Error, Root, TextFile};

/// A directory of a root.
pub(crate) struct Directory<'a> {
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

    /// As [`Root::read_optional`], for the file `name` of this directory.
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
        assert!(same("bad").is_err() && same("sub").is_err() && same("out").is_err());
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
