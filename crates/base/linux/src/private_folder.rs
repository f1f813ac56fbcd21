//! Folders whose files only this user can have written, because their contents are obeyed. Files
//! are opened without following links, and refused when another user owns them, may write them, or
//! could put another folder in their place.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

pub use crate::folder_walk::PrivateFolderError;
use crate::folder_walk::{IfMissing, Walk, check, check_above, refused};

/// An open folder.
#[derive(Debug)]
pub struct PrivateFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl PrivateFolder {
    /// Opens a folder; `None` when it does not exist and only this user could create it.
    ///
    /// # Errors
    /// When it is a link, or other users could have written to it.
    pub fn open(path: &Path) -> Result<Option<Self>, PrivateFolderError> {
        let folder = Walk::to(path, IfMissing::Stop)?;
        folder.map(Self::at).transpose()
    }

    /// Opens a folder; creates it and any missing parents for this user alone.
    ///
    /// # Errors
    /// As [`Self::open`], or when it cannot be created.
    pub fn open_or_make(path: &Path) -> Result<Self, PrivateFolderError> {
        let folder = Walk::to(path, IfMissing::Make)?;
        let gone = || refused(path)(io::ErrorKind::NotFound.into());
        Self::at(folder.ok_or_else(gone)?)
    }

    fn at(Walk { folder, path }: Walk) -> Result<Self, PrivateFolderError> {
        check(&path, &folder.metadata().map_err(refused(&path))?)?;
        // The same folder, for reading.
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let folder = openat(&folder, ".", flags, Mode::empty());
        let folder = folder.map_err(|cause| refused(&path)(cause.into()))?;
        Ok(PrivateFolder { folder, path })
    }

    /// Opens a file in it for reading; `None` when there is none.
    ///
    /// # Errors
    /// When it is not a regular file, or other users could have written it.
    pub fn read(&self, name: &str) -> Result<Option<File>, PrivateFolderError> {
        match self.open_file(name, OFlags::RDONLY) {
            Err(PrivateFolderError::Refused { cause, .. })
                if cause.kind() == io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    /// Opens a file in it for reading and appending; creates it if missing, for this user alone.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn append(&self, name: &str) -> Result<File, PrivateFolderError> {
        self.open_file(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)
    }

    /// Removes a file from it; succeeds if the file does not exist.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), PrivateFolderError> {
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(cause) => Err(refused(&self.path.join(name))(cause.into())),
        }
    }

    /// Checks every entry, for programs that open it by name: this user's links may lead elsewhere,
    /// to files that only this user can have written.
    ///
    /// # Errors
    /// For the first entry that other users could have written.
    pub fn check_files(&self) -> Result<(), PrivateFolderError> {
        let cannot = |cause: Errno| refused(&self.path)(cause.into());
        for entry in Dir::read_from(&self.folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            // Entries that are gone by now need no check.
            if let Ok(opened) = openat(&self.folder, name, flags, Mode::empty()) {
                let path = self.path.join(name);
                check(
                    &path,
                    &File::from(opened).metadata().map_err(refused(&path))?,
                )?;
            }
        }
        Ok(())
    }

    fn open_file(&self, name: &str, flags: OFlags) -> Result<File, PrivateFolderError> {
        let path = self.path.join(name);
        let another_kind = || PrivateFolderError::AnotherKind {
            path: path.clone(),
            expected: "regular file",
        };
        // Do not wait for the other end of a pipe.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR);
        let file = match opened {
            Ok(file) => File::from(file),
            Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Err(another_kind()),
            Err(cause) => return Err(refused(&path)(cause.into())),
        };
        let status = file.metadata().map_err(refused(&path))?;
        if !status.is_file() {
            return Err(another_kind());
        }
        check(&path, &status)?;
        Ok(file)
    }
}

/// Checks a folder in which this user is to make another, such as `/tmp`: nobody but root and this
/// user can put anything in the place of what is made there, nor of any folder above. Returns its
/// path without links.
///
/// # Errors
/// When there is no such folder, or others could.
pub fn place_for_folders(path: &Path) -> Result<PathBuf, PrivateFolderError> {
    let walk = Walk::to(path, IfMissing::Stop)?;
    let Walk { folder, path } = walk.ok_or_else(|| {
        let gone = io::ErrorKind::NotFound;
        refused(path)(gone.into())
    })?;
    check_above(&path, &folder.metadata().map_err(refused(&path))?)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};

    use super::*;

    /// `nobody`.
    const OTHER: u32 = 65_534;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn message<T>(outcome: Result<T, PrivateFolderError>) -> String {
        outcome
            .err()
            .map_or("fine".to_owned(), |error| error.to_string())
    }

    #[test]
    fn what_is_made_is_for_this_user_alone_and_is_found_again() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("state/numalab");
        assert!(PrivateFolder::open(&path).unwrap().is_none());
        let folder = PrivateFolder::open_or_make(&path).unwrap();
        assert!(folder.read("journal").unwrap().is_none());
        folder.append("journal").unwrap().write_all(b"1\n").unwrap();
        folder.append("journal").unwrap().write_all(b"2\n").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(mode(&path.join("journal")), 0o600);
        let folder = PrivateFolder::open(&path).unwrap().unwrap();
        let mut text = String::new();
        let mut file = folder.read("journal").unwrap().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "1\n2\n");
        folder.check_files().unwrap();
        folder.remove("journal").unwrap();
        folder.remove("journal").unwrap();
        assert!(folder.read("journal").unwrap().is_none());
    }

    #[test]
    fn what_others_may_write_is_refused() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("numalab");
        let folder = PrivateFolder::open_or_make(&path).unwrap();
        folder.append("journal").unwrap();
        for mode in [0o620, 0o602, 0o666] {
            set_mode(&path.join("journal"), mode);
            let user = rustix::process::geteuid().as_raw();
            let expected = format!("journal is writable by others (owner {user}");
            for said in [
                message(folder.read("journal")),
                message(folder.append("journal")),
                message(folder.check_files()),
            ] {
                assert!(said.contains(&expected), "{said}");
                assert!(said.contains(&format!("mode {mode:04o}")), "{said}");
            }
        }
        for mode in [0o770, 0o707] {
            set_mode(&path, mode);
            let said = message(PrivateFolder::open(&path));
            assert!(said.contains("numalab is writable by others"), "{said}");
            assert_eq!(message(PrivateFolder::open_or_make(&path)), said);
        }
        set_mode(&path, 0o755);
        // Whoever may write the folder above can replace this one, unless that folder is sticky.
        set_mode(above.path(), 0o707);
        let said = message(PrivateFolder::open(&path));
        assert!(said.contains("is writable by others"), "{said}");
        let made = above.path().join("not/there");
        assert!(message(PrivateFolder::open_or_make(&made)).contains("by others"));
        assert!(!made.exists());
        set_mode(above.path(), 0o1707);
        PrivateFolder::open(&path).unwrap().unwrap();
    }

    #[test]
    fn links_and_other_kinds_are_not_followed() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("numalab");
        let folder = PrivateFolder::open_or_make(&path).unwrap();
        let precious = above.path().join("precious");
        fs::write(&precious, "x").unwrap();
        symlink(&precious, path.join("link")).unwrap();
        symlink(above.path().join("new"), path.join("dangling")).unwrap();
        fs::create_dir(path.join("folder")).unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path.join("pipe"),
            rustix::fs::FileType::Fifo,
            mode,
            0,
        )
        .unwrap();
        for name in ["link", "dangling", "folder", "pipe"] {
            for said in [message(folder.append(name)), message(folder.read(name))] {
                assert!(
                    said.contains(&format!("{name} is not a regular file")),
                    "{said}"
                );
            }
        }
        assert!(!above.path().join("new").exists());
        let link = above.path().join("link");
        symlink(&path, &link).unwrap();
        let said = message(PrivateFolder::open(&link));
        assert!(
            said.contains("link is not a folder, or is a symbolic link to one"),
            "{said}"
        );
        // A link above it is resolved, and its target is checked.
        let through = above.path().join("through");
        symlink(above.path(), &through).unwrap();
        PrivateFolder::open(&through.join("numalab"))
            .unwrap()
            .unwrap();
        set_mode(above.path(), 0o707);
        assert!(message(PrivateFolder::open(&through.join("numalab"))).contains("by others"));
        set_mode(above.path(), 0o700);
    }

    #[test]
    fn every_folder_and_link_on_the_way_is_checked() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("numalab");
        PrivateFolder::open_or_make(&path).unwrap();
        // The folder that a link is in, though it is not above its target.
        let open = above.path().join("open");
        fs::create_dir(&open).unwrap();
        symlink("../numalab/..", open.join("back")).unwrap();
        let back = open.join("back/numalab");
        let found = PrivateFolder::open(&back).unwrap().unwrap();
        assert_eq!(found.path, path.canonicalize().unwrap());
        set_mode(&open, 0o707);
        assert!(message(PrivateFolder::open(&back)).contains("open is writable by others"));
        // Links in a circle, and what is no folder, lead nowhere.
        symlink("circle", above.path().join("circle")).unwrap();
        let circle = above.path().join("circle/numalab");
        assert!(message(PrivateFolder::open(&circle)).contains("circle: Too many levels"));
        fs::write(above.path().join("file"), "x").unwrap();
        let below = above.path().join("file/numalab");
        for said in [
            message(PrivateFolder::open(&below)),
            message(PrivateFolder::open_or_make(&below)),
        ] {
            assert!(said.contains("file: Not a directory"), "{said}");
        }
        // What a link misses is made where it leads.
        symlink("made", above.path().join("missing")).unwrap();
        let made = above.path().join("missing/numalab");
        assert!(PrivateFolder::open(&made).unwrap().is_none());
        PrivateFolder::open_or_make(&made).unwrap();
        assert!(above.path().join("made/numalab").is_dir());
        assert!(message(PrivateFolder::open(Path::new("/"))).contains("invalid"));
    }

    /// A link in a sticky folder is its owner's, who could lead others astray with it (proc(5),
    /// `protected_symlinks`).
    #[test]
    fn a_link_of_another_user_is_not_followed() {
        if rustix::process::geteuid().as_raw() != 0 {
            let test = "a_link_of_another_user_is_not_followed";
            return testing::not_run(test, testing::Need::Root, "only root gives files away");
        }
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("home/numalab");
        PrivateFolder::open_or_make(&path).unwrap();
        let sticky = above.path().join("sticky");
        fs::create_dir(&sticky).unwrap();
        set_mode(&sticky, 0o1777);
        symlink("../home", sticky.join("link")).unwrap();
        let through = sticky.join("link/numalab");
        PrivateFolder::open(&through).unwrap().unwrap();
        lchown(sticky.join("link"), Some(OTHER), None).unwrap();
        let said = message(PrivateFolder::open(&through));
        assert!(said.contains("link belongs to user 65534"), "{said}");
    }

    #[test]
    fn what_another_user_owns_is_refused() {
        if rustix::process::geteuid().as_raw() != 0 {
            let test = "what_another_user_owns_is_refused";
            return testing::not_run(test, testing::Need::Root, "only root gives files away");
        }
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("home/numalab");
        let folder = PrivateFolder::open_or_make(&path).unwrap();
        folder.append("journal").unwrap();
        let of_other = |what: &str| format!("{what} belongs to user {OTHER} (mode 0");
        chown(path.join("journal"), Some(OTHER), None).unwrap();
        for said in [
            message(folder.read("journal")),
            message(folder.check_files()),
        ] {
            assert!(said.contains(&of_other("journal")), "{said}");
        }
        for (given, what) in [
            (path.as_path(), "numalab"),
            (path.parent().unwrap(), "home"),
        ] {
            chown(given, Some(OTHER), None).unwrap();
            let said = message(PrivateFolder::open(&path));
            assert!(said.contains(&of_other(what)), "{said}");
            chown(given, Some(0), None).unwrap();
        }
        // The owner of the folder above cannot make root create a folder in it.
        chown(path.parent().unwrap(), Some(OTHER), None).unwrap();
        let new = path.with_file_name("new");
        assert!(message(PrivateFolder::open_or_make(&new)).contains(&of_other("home")));
        assert!(!new.exists());
        // A folder owned by root, above one the user owns, is accepted.
        chown(path.parent().unwrap(), Some(0), None).unwrap();
        set_mode(above.path(), 0o755);
        set_mode(path.parent().unwrap(), 0o755);
        chown(&path, Some(OTHER), None).unwrap();
        let opened = crate::process::as_user(OTHER, OTHER, || message(PrivateFolder::open(&path)));
        assert_eq!(opened.unwrap(), "fine");
    }
}
