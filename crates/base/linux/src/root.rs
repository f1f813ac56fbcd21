//! The directory below which `/proc` and `/sys` are read: `/` on a live machine, any directory for
//! a captured one. Nothing is ever written or executed through it.
//!
//! Every text ends at its first NUL. No file of the kernel contains one, except for lists of
//! strings such as /proc/PID/cmdline ([`Root::read_words`]). A copy may: some tools append a NUL to
//! what they copy, or copy a whole page of which only the start was written.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::reading::{End, hold_within, open_regular_within, read_to_limit};
use crate::{Error, TextFile, plain_file};

/// Limit on the size of one file. The longest file of the topology is a table of 1024 distances;
/// /proc/mounts of a container host reaches hundreds of KiB.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Limit on the entries of one directory. A node directory links each of its memory blocks of at
/// least 128 MiB: this is enough for 128 TiB in one node.
const ENTRIES_MAX: usize = 1 << 20;

/// `ENODEV`, `ENXIO`, `EOPNOTSUPP`: the file exists but its device reports nothing, such as
/// the governor of a CPU that is going offline (`errno(3)`).
const NOTHING_TO_SAY: [i32; 3] = [19, 6, 95];

/// Links of /proc/PID that lead anywhere the process chooses (proc(5)).
const LINKS_ELSEWHERE: [&str; 5] = ["cwd", "exe", "fd", "map_files", "root"];

/// A root directory. Paths given to it are relative to it and may begin with `/`.
#[derive(Clone, Debug)]
pub struct Root {
    directory: PathBuf,
    /// The open directory; `None` for `/`, which nothing can lead out of.
    confinement: Option<Arc<OwnedFd>>,
}

impl Root {
    /// The machine this process runs on.
    pub fn live() -> Self {
        Self {
            directory: PathBuf::from("/"),
            confinement: None,
        }
    }

    /// A captured machine: files are read below `directory` and symbolic links may not leave it.
    ///
    /// # Errors
    /// When there is no such directory.
    pub fn at(directory: &Path) -> Result<Self, Error> {
        let held = plain_file::hold(directory, OFlags::DIRECTORY);
        let held = held.map_err(|cause| Error::Read {
            path: directory.to_path_buf(),
            cause,
        })?;
        Ok(Self {
            directory: directory.to_path_buf(),
            confinement: Some(Arc::new(held)),
        })
    }

    /// Whether this is the machine this process runs on, not a captured one.
    pub fn is_live(&self) -> bool {
        self.confinement.is_none()
    }

    /// The full path of `path`, for messages.
    pub fn path(&self, path: &str) -> PathBuf {
        // In one allocation: to grow a text takes a lock that threads share (realloc in glibc).
        let mut full = PathBuf::with_capacity(self.directory.as_os_str().len() + path.len() + 1);
        full.push(&self.directory);
        full.push(path.trim_start_matches('/'));
        full
    }

    /// Reads a file that must exist.
    ///
    /// # Errors
    /// When it does not exist, is not a regular file, is too large, or is not UTF-8.
    pub fn read(&self, path: &str) -> Result<TextFile, Error> {
        let bytes = self.read_whole(path)?;
        TextFile::from_bytes(self.path(path), bytes)
    }

    /// Reads a file of /proc/PID, in which names of files and processes need not be UTF-8: invalid
    /// bytes become replacement characters.
    ///
    /// # Errors
    /// When it does not exist, is not a regular file, or is too large.
    pub fn read_lossy(&self, path: &str) -> Result<TextFile, Error> {
        let bytes = self.read_whole(path)?;
        Ok(TextFile::new(self.path(path), lossy(bytes)))
    }

    /// Reads NUL-terminated strings, as in /proc/PID/cmdline (proc(5)). Invalid UTF-8 becomes
    /// replacement characters.
    ///
    /// # Errors
    /// As [`Root::read_lossy`].
    pub(crate) fn read_words(&self, path: &str) -> Result<Vec<String>, Error> {
        let bytes = self.read_bounded(path)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Reads a file that a kernel may lack or hide from this user; `None` in these cases. Also
    /// `None` for an empty file: for an empty list the kernel writes a newline, while an empty copy
    /// means that the file could not be read.
    ///
    /// # Errors
    /// As [`Root::read`], except for absence and lack of permission.
    pub fn read_optional(&self, path: &str) -> Result<Option<TextFile>, Error> {
        let file = absent_is_none(self.read(path))?;
        Ok(file.filter(|file| !file.text().is_empty()))
    }

    /// Reads at most the first `bytes_max` bytes of a file that may be absent. If the file is
    /// longer, drops the last, incomplete line.
    ///
    /// # Errors
    /// As [`Root::read_optional`], but never for its size.
    pub fn read_start(&self, path: &str, bytes_max: u64) -> Result<Option<TextFile>, Error> {
        let Some(mut bytes) = self.read_prefix(path, bytes_max)? else {
            return Ok(None);
        };
        if bytes.len() as u64 > bytes_max {
            let complete = bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            bytes.truncate(complete);
        }
        TextFile::from_bytes(self.path(path), bytes).map(Some)
    }

    /// Reads at most the first `bytes_max` bytes, and one more to show that there are more, of a
    /// file that may be absent. The kernel writes lines of /proc/PID/numa_maps only as far as they
    /// are read.
    ///
    /// # Errors
    /// As [`Root::read_start`].
    pub fn read_prefix(&self, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, Error> {
        let mut bytes = absent_is_none(self.read_bytes(path, bytes_max))?;
        if let Some(bytes) = &mut bytes {
            end_at_nul(bytes);
        }
        Ok(bytes)
    }

    /// Checks that a path exists.
    ///
    /// # Errors
    /// When it does not, or may not be seen.
    pub fn require(&self, path: &str) -> Result<(), Error> {
        self.hold(path).map(drop)
    }

    /// The names in a directory, in byte order; `None` when there is no such directory.
    ///
    /// # Errors
    /// When the directory cannot be listed or has too many entries.
    pub fn entries(&self, path: &str) -> Result<Option<Vec<String>>, Error> {
        absent_is_none(self.list(path))
    }

    /// As [`Root::entries`], of the directory `name` in one that [`Root::hold`] holds.
    pub(crate) fn entries_in(
        &self,
        (held, directory): (&OwnedFd, &str),
        name: &str,
    ) -> Result<Option<Vec<String>>, Error> {
        let path = format!("{directory}/{name}");
        if self.is_live() {
            return self.entries(&path);
        }
        let listed = match hold_within(held, name) {
            Ok(held) => self.names(&path, fs::read_dir(plain_file::path_of(&held))),
            // A link that leads out of the directory may stay in the root.
            Err(Errno::XDEV) => self.list(&path),
            Err(cause) => Err(self.read_error(&path, cause.into())),
        };
        absent_is_none(listed)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Error> {
        let listed = match &self.confinement {
            None => fs::read_dir(self.path(path)),
            Some(_) => fs::read_dir(plain_file::path_of(&self.hold(path)?)),
        };
        self.names(path, listed)
    }

    fn names(&self, path: &str, listed: io::Result<fs::ReadDir>) -> Result<Vec<String>, Error> {
        let read_error = |cause| self.read_error(path, cause);
        let mut names = Vec::new();
        for entry in listed.map_err(read_error)? {
            if names.len() == ENTRIES_MAX {
                let path = self.path(path);
                return Err(Error::DirectoryTooLarge {
                    path,
                    entries_max: ENTRIES_MAX,
                });
            }
            names.push(
                entry
                    .map_err(read_error)?
                    .file_name()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The content up to its first NUL.
    fn read_whole(&self, path: &str) -> Result<Vec<u8>, Error> {
        let mut bytes = self.read_bounded(path)?;
        end_at_nul(&mut bytes);
        Ok(bytes)
    }

    pub(crate) fn read_bounded(&self, path: &str) -> Result<Vec<u8>, Error> {
        let bytes = self.read_bytes(path, FILE_BYTES_MAX)?;
        self.require_length(path, &bytes)?;
        Ok(bytes)
    }

    fn require_length(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() as u64 <= FILE_BYTES_MAX {
            return Ok(());
        }
        Err(Error::FileTooLarge {
            path: self.path(path),
            bytes_max: FILE_BYTES_MAX,
        })
    }

    /// The content, truncated to `bytes_max` bytes plus one.
    pub(crate) fn read_bytes(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let (opened, end) = match self.open_of_capture(path) {
            Some((file, bytes)) => (Ok(Some(file)), End::After(bytes)),
            None if self.is_of_the_kernel(path) => {
                let opened = File::open(self.path(path)).map(Some);
                (opened, self.end_of(path))
            }
            None => (plain_file::open(&self.hold(path)?, 0), End::Unknown),
        };
        self.content(path, (opened, end), bytes_max)
    }

    /// Opens a file of a captured machine, with its length; `None` where that takes a closer look.
    fn open_of_capture(&self, path: &str) -> Option<(File, u64)> {
        let root = self.confinement.as_ref()?;
        let opened = open_regular_within(root, path.trim_start_matches('/'));
        opened.ok().flatten()
    }

    /// As [`Root::read_optional`], of the file `name` in a directory that [`Root::hold`] holds.
    pub(crate) fn read_optional_in(
        &self,
        (held, directory): (&OwnedFd, &str),
        name: &str,
    ) -> Result<Option<TextFile>, Error> {
        let path = [directory, "/", name].concat();
        if self.is_live() && !self.is_of_the_kernel(&path) {
            return self.read_optional(&path);
        }
        let opened = match self.is_live() {
            true => openat(held, name, OFlags::CLOEXEC, Mode::empty())
                .map(|file| (File::from(file), self.end_of(&path))),
            false => match open_regular_within(held, name) {
                Ok(Some((file, bytes))) => Ok((file, End::After(bytes))),
                // It may be a link that leads out of the directory and stays in the root.
                Ok(None) => return self.read_optional(&path),
                Err(cause) => Err(cause),
            },
        };
        let (opened, end) = match opened {
            Ok((file, end)) => (Ok(Some(file)), end),
            Err(cause) => (Err(cause.into()), End::Unknown),
        };
        let content = self.content(&path, (opened, end), FILE_BYTES_MAX);
        let Some(mut bytes) = absent_is_none(content)? else {
            return Ok(None);
        };
        self.require_length(&path, &bytes)?;
        end_at_nul(&mut bytes);
        let file = TextFile::from_bytes(self.path(&path), bytes)?;
        Ok(Some(file).filter(|file| !file.text().is_empty()))
    }

    /// What an opened file contains, truncated to `bytes_max` bytes plus one; `None`: it is no
    /// regular file.
    fn content(
        &self,
        path: &str,
        (opened, end): (io::Result<Option<File>>, End),
        bytes_max: u64,
    ) -> Result<Vec<u8>, Error> {
        let not_a_file = || Error::NotAFile {
            path: self.path(path),
        };
        let file = opened.map_err(|cause| self.read_error(path, cause))?;
        let file = file.ok_or_else(not_a_file)?;
        let read = read_to_limit(file, bytes_max.saturating_add(1), end);
        read.map_err(|cause| match cause.kind() {
            // The kernel has directories there, and regular files, but nothing else.
            io::ErrorKind::IsADirectory => not_a_file(),
            _ => self.read_error(path, cause),
        })
    }

    fn end_of(&self, path: &str) -> End {
        match self.is_live() && path.trim_start_matches('/').starts_with("sys/") {
            true => End::ShortRead,
            false => End::Unknown,
        }
    }

    /// Whether only the kernel can create this file. Nobody can replace it by a pipe or a device,
    /// so it may be opened directly; one inspection opens thousands of such files.
    fn is_of_the_kernel(&self, path: &str) -> bool {
        let mut parts = path.trim_start_matches('/').split('/');
        let is_there = matches!(parts.next(), Some("proc" | "sys"));
        self.is_live() && is_there && !parts.any(|part| LINKS_ELSEWHERE.contains(&part))
    }

    /// Holds the file at this path, so that a later replacement does not affect checking and
    /// reading.
    pub(crate) fn hold(&self, path: &str) -> Result<OwnedFd, Error> {
        let Some(root) = &self.confinement else {
            let held = plain_file::hold(&self.path(path), OFlags::empty());
            return held.map_err(|cause| self.read_error(path, cause));
        };
        let relative = match path.trim_start_matches('/') {
            "" => ".",
            relative => relative,
        };
        match hold_within(root, relative) {
            Ok(held) => Ok(held),
            Err(Errno::XDEV) => Err(Error::OutsideRoot {
                path: self.path(path),
                root: self.directory.clone(),
            }),
            Err(cause) => Err(self.read_error(path, cause.into())),
        }
    }

    fn read_error(&self, path: &str, cause: io::Error) -> Error {
        let path = self.path(path);
        Error::Read { path, cause }
    }
}

fn end_at_nul(bytes: &mut Vec<u8>) {
    let end = bytes.iter().position(|byte| *byte == 0);
    bytes.truncate(end.unwrap_or(bytes.len()));
}

/// The bytes as text, copied only where they are not UTF-8.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

pub(crate) fn absent_is_none<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Error::Read { cause, .. }) if is_absence(&cause) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_absence(cause: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(cause.kind(), NotFound | NotADirectory | PermissionDenied)
        || cause
            .raw_os_error()
            .is_some_and(|number| NOTHING_TO_SAY.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn root_with(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        (directory, root)
    }

    /// The message without the directory, which differs from run to run.
    fn message(directory: &tempfile::TempDir, error: &Error) -> String {
        error
            .to_string()
            .replace(directory.path().to_str().unwrap(), "ROOT")
    }

    #[test]
    fn files_are_read_below_the_root() {
        let (_directory, root) = root_with(&[("sys/a", b"1\n")]);
        assert_eq!(root.read("sys/a").unwrap().text(), "1\n");
        assert_eq!(root.read("/sys/a").unwrap().text(), "1\n");
        assert!(!root.is_live());
    }

    #[test]
    fn absence_is_an_error_only_where_the_file_is_required() {
        let (directory, root) = root_with(&[("sys/a", b"")]);
        let error = root.read("sys/b").unwrap_err();
        assert_eq!(
            message(&directory, &error),
            "ROOT/sys/b: No such file or directory (os error 2)"
        );
        assert!(root.read_optional("sys/b").unwrap().is_none());
        assert!(root.read_optional("sys/a/b").unwrap().is_none());
        assert!(root.entries("proc").unwrap().is_none());
        assert!(Root::at(&directory.path().join("proc")).is_err());
        assert!(Root::at(&directory.path().join("sys/a")).is_err());
    }

    #[test]
    fn a_text_ends_at_its_first_nul() {
        let check = |content: &[u8], expected: &str| {
            let (_directory, root) = root_with(&[("a", content)]);
            assert_eq!(root.read("a").unwrap().text(), expected);
            assert_eq!(root.read_lossy("a").unwrap().text(), expected);
            let optional = root.read_optional("a").unwrap();
            assert_eq!(optional.as_ref().map_or("", TextFile::text), expected);
            let start = root.read_start("a", 100).unwrap().unwrap();
            assert_eq!(start.text(), expected);
        };
        check(b"0-3\n", "0-3\n");
        check(b"0-3\n\0", "0-3\n");
        check(b"0-3\0", "0-3");
        check(b"0-3\n\0\0\xff left over\n", "0-3\n");
        check(b"\0\0", "");
    }

    #[test]
    fn a_file_without_a_byte_says_nothing() {
        let (_directory, root) = root_with(&[("empty", b""), ("nul", b"\0"), ("line", b"\n")]);
        assert!(root.read_optional("empty").unwrap().is_none());
        assert!(root.read_optional("nul").unwrap().is_none());
        assert_eq!(root.read_optional("line").unwrap().unwrap().text(), "\n");
    }

    #[test]
    fn hostile_files_are_named() {
        let (directory, root) = root_with(&[("a", b"one\ntwo \xff\n"), ("d/x", b"")]);
        let file = File::create(directory.path().join("huge")).unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe, Mode::RUSR).unwrap();
        file.set_len(FILE_BYTES_MAX + 1).unwrap();
        let check = |path: &str, expected: &str| {
            let error = root.read_optional(path).unwrap_err();
            assert_eq!(message(&directory, &error), expected);
        };
        check(
            "a",
            "ROOT/a, line 2: expected text in UTF-8, found byte 0xff",
        );
        check("d", "ROOT/d: expected a regular file");
        check("pipe", "ROOT/pipe: expected a regular file");
        check(
            "huge",
            "ROOT/huge: expected at most 16777216 bytes, found more",
        );
    }

    #[test]
    fn a_pipe_of_a_process_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR).unwrap();
        let root = Root::live();
        // Opening it would wait for its writer.
        for path in [
            pipe.display().to_string(),
            format!("proc/self/root{}", pipe.display()),
            "proc/self/cwd".to_owned(),
            "dev/null".to_owned(),
            "proc/self/task".to_owned(),
        ] {
            let refused = root.read_lossy(&path);
            assert!(matches!(refused, Err(Error::NotAFile { .. })), "{path}");
        }
        assert!(root.read("proc/self/stat").is_ok());
    }

    #[test]
    fn links_may_lead_about_in_the_root_but_not_out() {
        let (directory, root) = root_with(&[("real/a", b"1\n")]);
        symlink("real/a", directory.path().join("inside")).unwrap();
        symlink("/etc/hostname", directory.path().join("outside")).unwrap();
        symlink("/etc", directory.path().join("etc")).unwrap();
        symlink("../..", directory.path().join("real/above")).unwrap();
        assert_eq!(root.read("inside").unwrap().text(), "1\n");
        assert_eq!(
            message(&directory, &root.read("outside").unwrap_err()),
            "ROOT/outside: expected a file below ROOT, found a symbolic link that leads outside"
        );
        let is_outside = |path: &str| {
            let listed = root.entries(path);
            assert!(matches!(listed, Err(Error::OutsideRoot { .. })), "{path}");
            let required = root.require(path);
            assert!(matches!(required, Err(Error::OutsideRoot { .. })), "{path}");
        };
        is_outside("etc");
        is_outside("real/above");
        is_outside("../");
        assert_eq!(root.entries("real/../real").unwrap().unwrap().len(), 2);
        assert!(
            root.entries("/")
                .unwrap()
                .unwrap()
                .contains(&"real".to_owned())
        );
    }

    #[test]
    fn the_start_of_a_file_ends_with_a_whole_line() {
        let (_directory, root) = root_with(&[("a", b"one\ntwo\nthree\n")]);
        let start = |bytes_max| root.read_start("a", bytes_max).unwrap().unwrap();
        assert_eq!(start(10).text(), "one\ntwo\n");
        assert_eq!(start(2).text(), "");
        assert_eq!(start(14).text(), "one\ntwo\nthree\n");
        assert!(root.read_start("b", 10).unwrap().is_none());
    }

    #[test]
    fn entries_are_in_order() {
        let (_directory, root) = root_with(&[("d/b", b""), ("d/a/x", b""), ("d/c", b"")]);
        assert_eq!(root.entries("d").unwrap().unwrap(), ["a", "b", "c"]);
    }
}
