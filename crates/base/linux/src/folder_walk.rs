//! The way to a folder, and what makes one safe: nobody but root and this user could put another in
//! its place.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, readlinkat};
use rustix::io::Errno;

use crate::{Root, capabilities};

/// Bits of a mode: the group may write; everyone may write; only an entry's owner may remove it.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Links that are followed on the way, as many as the kernel follows (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// Why a folder or a file in it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFolderError {
    /// The operating system refused.
    #[error("{}: {cause}", path.display())]
    Refused {
        /// The folder or file.
        path: PathBuf,
        /// The operating system's answer.
        cause: io::Error,
    },
    /// Another user owns it.
    #[error(
        "{} belongs to user {owner} (mode {mode:04o}), not to user {user}: its owner could \
         control numalab through it",
        path.display()
    )]
    OfAnother {
        /// The folder or file, or a folder above it.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Its permissions.
        mode: u32,
        /// This user.
        user: u32,
    },
    /// Other users may write it.
    #[error(
        "{} is writable by others (owner {owner}, mode {mode:04o}), who could control numalab \
         through it",
        path.display()
    )]
    Writable {
        /// The folder or file, or a folder above it.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// Its permissions.
        mode: u32,
    },
    /// Something of another kind is in its place.
    #[error("{} is not a {expected}, or is a symbolic link to one (not followed)", path.display())]
    AnotherKind {
        /// The folder or file.
        path: PathBuf,
        /// What should be there.
        expected: &'static str,
    },
}

/// What to do where a folder on the way does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Stop,
    Make,
}

/// A walk from the root of the file system, one name at a time. Each folder is checked through the
/// descriptor in which the next name is looked up, so that what was checked is what is used,
/// whatever is renamed meanwhile.
pub(crate) struct Walk {
    pub folder: File,
    /// Its path, without links.
    pub path: PathBuf,
}

impl Walk {
    /// Walks to the folder at the end of the path, which is not checked itself; `None` when there
    /// is none.
    pub(crate) fn to(
        path: &Path,
        if_missing: IfMissing,
    ) -> Result<Option<Self>, PrivateFolderError> {
        let asked = std::path::absolute(path).map_err(refused(path))?;
        if asked.file_name().is_none() {
            return Err(refused(path)(io::ErrorKind::InvalidInput.into()));
        }
        // The names still to come, the next one last.
        let mut names = reversed(&asked);
        let mut walk = Walk::root()?;
        let mut links = 0;
        while let Some(name) = names.pop() {
            let status = walk.folder.metadata().map_err(refused(&walk.path))?;
            check_above(&walk.path, &status)?;
            let Some(next) = walk.next(&name, if_missing)? else {
                return Ok(None);
            };
            let path = walk.path.join(&name);
            let status = next.metadata().map_err(refused(&path))?;
            if status.is_symlink() && !names.is_empty() {
                check_owner_above(&path, &status)?;
                links += 1;
                let target = target(&next, &path, links)?;
                names.extend(reversed(&target));
                if target.is_absolute() {
                    walk = Walk::root()?;
                }
            } else if status.is_dir() {
                walk.enter(&name, next);
            } else if names.is_empty() {
                let expected = "folder";
                return Err(PrivateFolderError::AnotherKind { path, expected });
            } else {
                return Err(refused(&path)(Errno::NOTDIR.into()));
            }
        }
        Ok(Some(walk))
    }

    fn root() -> Result<Self, PrivateFolderError> {
        let path = PathBuf::from("/");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &path, flags, Mode::empty());
        let folder = folder.map_err(|cause| refused(&path)(cause.into()))?;
        let folder = folder.into();
        Ok(Walk { folder, path })
    }

    /// Looks a name up, without following it.
    fn next(
        &self,
        name: &OsStr,
        if_missing: IfMissing,
    ) -> Result<Option<File>, PrivateFolderError> {
        let cannot = |cause: Errno| refused(&self.path.join(name))(cause.into());
        match (self.look_up(name), if_missing) {
            (Ok(found), _) => Ok(Some(found.into())),
            // What may not be entered is as good as missing.
            (Err(Errno::NOENT | Errno::ACCESS), IfMissing::Stop) => Ok(None),
            (Err(Errno::NOENT), IfMissing::Make) => {
                match mkdirat(&self.folder, name, Mode::RWXU) {
                    // Another numalab may have made it meanwhile.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(cause) => return Err(cannot(cause)),
                }
                self.look_up(name)
                    .map(|found| Some(found.into()))
                    .map_err(cannot)
            }
            (Err(cause), _) => Err(cannot(cause)),
        }
    }

    fn look_up(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // First as a folder, which mounts what is mounted on demand (open(2), O_PATH).
        match openat(&self.folder, name, flags | OFlags::DIRECTORY, Mode::empty()) {
            Err(Errno::NOTDIR) => openat(&self.folder, name, flags, Mode::empty()),
            opened => opened,
        }
    }

    fn enter(&mut self, name: &OsStr, folder: File) {
        self.folder = folder;
        match name == ".." {
            true => drop(self.path.pop()),
            false => self.path.push(name),
        }
    }
}

/// Where an open link leads, which is one of so many on the way.
fn target(link: &File, path: &Path, links: usize) -> Result<PathBuf, PrivateFolderError> {
    let read = match links > LINKS_MAX {
        true => Err(Errno::LOOP),
        false => readlinkat(link, "", Vec::new()),
    };
    let read = read.map_err(|cause| refused(path)(cause.into()))?;
    Ok(PathBuf::from(OsString::from_vec(read.into_bytes())))
}

/// The names of a path, the first one last.
fn reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

pub(crate) fn refused(path: &Path) -> impl FnOnce(io::Error) -> PrivateFolderError {
    let path = path.to_owned();
    |cause| PrivateFolderError::Refused { path, cause }
}

/// Checks that this user owns it and no other user may write it.
pub(crate) fn check(path: &Path, status: &Metadata) -> Result<(), PrivateFolderError> {
    let (user, owner) = (rustix::process::geteuid().as_raw(), status.uid());
    let (path, mode) = (path.to_owned(), status.mode() & 0o7777);
    if owner != user {
        return Err(PrivateFolderError::OfAnother {
            path,
            owner,
            mode,
            user,
        });
    }
    if mode & (GROUP_WRITES | OTHERS_WRITE) != 0 {
        return Err(PrivateFolderError::Writable { path, owner, mode });
    }
    Ok(())
}

/// Checks that only root and this user can replace entries of a folder above.
///
/// In a sticky folder, only its owner may remove an entry. For users other than root, write access
/// of the group is accepted: many distributions give each user a private group.
pub(crate) fn check_above(path: &Path, status: &Metadata) -> Result<(), PrivateFolderError> {
    check_owner_above(path, status)?;
    let others = match rustix::process::geteuid().as_raw() {
        0 => GROUP_WRITES | OTHERS_WRITE,
        _ => OTHERS_WRITE,
    };
    let (owner, mode) = (status.uid(), status.mode() & 0o7777);
    let path = path.to_owned();
    match mode & others != 0 && mode & STICKY == 0 {
        true => Err(PrivateFolderError::Writable { path, owner, mode }),
        false => Ok(()),
    }
}

/// Checks that root or this user owns a folder above, or a link that leads to one.
fn check_owner_above(path: &Path, status: &Metadata) -> Result<(), PrivateFolderError> {
    let user = rustix::process::geteuid().as_raw();
    let owner = status.uid();
    match owner == 0 || owner == user || is_unknown_owner(owner) {
        true => Ok(()),
        false => Err(PrivateFolderError::OfAnother {
            path: path.to_owned(),
            owner,
            mode: status.mode() & 0o7777,
            user,
        }),
    }
}

/// Whether this owner stands for all users that are not mapped into our user namespace, such as the
/// outer root in a container (user_namespaces(7)).
fn is_unknown_owner(owner: u32) -> bool {
    let root = Root::live();
    let unmapped = root.read_start("proc/sys/kernel/overflowuid", 4096);
    let unmapped = unmapped.ok().flatten();
    let unmapped = unmapped.and_then(|file| file.text().trim().parse().ok());
    capabilities::is_in_child_user_namespace(&root) == Some(true) && unmapped == Some(owner)
}
